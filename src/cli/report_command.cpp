// SPDX-License-Identifier: Apache-2.0
// tessera report: where the time of a run or a simulation went, and what to try.
#include <memory>

#include "cli/commands.h"
#include "cli/report_clocks.h"
#include "cli/run_options.h"
#include "files/atomic_file.h"
#include "report/comparison.h"
#include "studio/pictures/run_pictures.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Writes report.md, report.html (with plots, and pictures of a step) and report.json into the\n"
    "folder. A run that is still going, or was killed, is reported up to that point; figures\n"
    "that it did not record are shown as not recorded.\n"
    "Examples:\n"
    "  tessera train --mesh dp=2,tp=2 --steps 50 --out out/mesh && tessera report out/mesh\n"
    "  tessera simulate --mesh dp=2,tp=2 --out out/simulated && tessera report out/simulated\n"
    "  tessera report --compare out/mesh out/simulated\n"
    "  tessera report --compare out/a out/b --out out/difference.html\n"
    "  tessera train --steps 20 --out out/traced --trace out/traced/trace.json\n"
    "  tessera report out/traced --clocks\n"
    "What the figures mean: docs/report.md";

struct ReportCommand {
  std::string folder, out;
  std::vector<std::string> compared;
  bool clocks = false, json = false;
};

void run_one(const ReportCommand& command) {
  Report report = report_on(command.folder);
  report.pictures = pictures_of_run(report.record);
  const std::vector<std::filesystem::path> files = write_report(report);
  if (command.json) {
    fmt::print("{}\n", to_json_text(report));
    return;
  }
  fmt::print("{}", to_summary(report));
  for (const std::filesystem::path& file : files) fmt::print("{}\n", file.string());
}

void run_two(const ReportCommand& command) {
  const Comparison comparison =
      compare(report_on(command.compared[0]), report_on(command.compared[1]));
  const Document document = document_of(comparison);
  if (!command.out.empty())
    write_file_atomically(
        command.out, command.out.ends_with(".html") ? to_html(document) : to_markdown(document));
  if (command.json)
    fmt::print("{}\n", to_json_text(comparison));
  else
    fmt::print("{}", to_markdown(document));
}

void run(const ReportCommand& command) {
  if (command.folder.empty() == command.compared.empty())
    throw user_error("give one folder, or two to --compare")
        .help("tessera report out, or tessera report --compare out/a out/b");
  if (command.clocks)
    print_clocks(command.folder, command.json);
  else if (command.compared.empty())
    run_one(command);
  else
    run_two(command);
}

}  // namespace

void add_report_command(Command app) {
  auto command = std::make_shared<ReportCommand>();
  const Command report =
      app.add_subcommand("report", "show where the time of a run went, and what to try");
  report.footer(kFooter);
  report.add_option("folder", command->folder, "folder of a run or a simulation")
      .type_name("FOLDER");
  const Option compared =
      report.add_option("--compare", command->compared, "explain the difference between two runs")
          .values(2)
          .type_name("FOLDER");
  report.add_option("--out", command->out, "also write the comparison to a file (.md or .html)")
      .type_name("FILE")
      .needs(compared);
  report
      .add_flag("--clocks", command->clocks,
                "a traced run beside its own simulation, by instruction, largest differences first")
      .excludes(compared);
  add_json_flag(report, command->json);
  report.on_run([command] { run(*command); });
}

}  // namespace tessera
