// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <fmt/format.h>

#include "files/atomic_file.h"
#include "report/figure_text.h"
#include "report/islands_table.h"

namespace tessera {

Report report_on(const std::filesystem::path& folder) {
  Report report{.record = read_run(folder)};
  report.figures = figures_of(report.record);
  report.stalls = stalls_of(report.record);
  report.failures = failures_of(report.record);
  report.islands = read_islands(folder);
  report.findings = diagnose(report.record, report.figures);
  return report;
}

std::vector<std::string> headlines(const Report& report) {
  const RunFigures& figures = report.figures;
  std::vector<std::string> lines{fmt::format(
      "steps {} to {}: {} per step, {} tokens/s, MFU {}", figures.first_step, figures.last_step,
      seconds_text(known(figures.mean.step_seconds)),
      rate_text(known(figures.mean.tokens_per_second)), percent_text(known(figures.mean.mfu)))};
  if (const StepTimes* split = figures.split()) {
    const auto share = [&](double seconds) { return percent_text(figures.share(seconds)); };
    const auto of_cores = compute_share_of_cores(report.record, figures);
    lines.push_back(fmt::format(
        "time: compute {}{}, exposed communication {}, bubble {}, data {}, other {}",
        share(split->compute_seconds),
        of_cores ? fmt::format(" of a rank's time ({} of a core's)", percent_text(of_cores)) : "",
        share(split->exposed_communication_seconds), share(split->bubble_seconds),
        share(split->data_seconds), share(split->other_seconds + split->between_steps_seconds)));
  }
  if (!report.islands.empty()) lines.push_back(headline_of_islands(report));
  return lines;
}

std::string to_summary(const Report& report) {
  std::string text;
  for (const std::string& line : headlines(report)) text += line + "\n";
  for (const Finding& finding : report.findings)
    if (finding.verdict == Verdict::Problem)
      text += fmt::format("{}: {}.\n  try: {}\n", finding.title, finding.answer, finding.advice);
    else if (finding.verdict == Verdict::Note && finding.advice.empty())  // it came back
      text += fmt::format("{}: {}.\n", finding.title, finding.answer);
  return text;
}

std::vector<std::filesystem::path> write_report(const Report& report) {
  const std::filesystem::path& folder = report.record.folder;
  const Document document = document_of(report);
  write_file_atomically(folder / "report.md", to_markdown(document));
  write_file_atomically(folder / "report.html", to_html(document));
  write_file_atomically(folder / "report.json", to_json_text(report) + "\n");
  return {folder / "report.md", folder / "report.html", folder / "report.json"};
}

}  // namespace tessera
