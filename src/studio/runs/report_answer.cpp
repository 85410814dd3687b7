// SPDX-License-Identifier: Apache-2.0
// The questions `report` and `compare`: what `tessera report --json` prints of runs in the folders.
#include "core/error.h"
#include "record/rank_lines.h"
#include "report/comparison.h"
#include "report/report.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"

namespace tessera {
namespace {

constexpr int64_t kMostReportBytes = int64_t{1} << 30;

// The report opens files by their paths: they must be what they seem to be.
Report report_of(const FoundRun& run) {
  for (const char* name : {kMetricsFile, kEventsFile, kRanksFile, "config.toml"}) {
    const std::optional<FileState> state = run.folder.state_of(name);
    std::error_code missing;
    const bool is_there =
        std::filesystem::exists(std::filesystem::symlink_status(run.path / name, missing));
    if (is_there && (!state || state->bytes > kMostReportBytes))
      throw user_error("{} of the run is no file, or larger than 1 GB", name)
          .at(run.name)
          .help("a report is made of plain files: look into the folder");
  }
  return report_on(run.path);
}

}  // namespace

Answer answer_report(const Question& question) {
  require_known_fields(question.fields, {"run"});
  return {.json = parse_json(to_json_text(report_of(asked_run_folder(question, "run"))))};
}

Answer answer_compare(const Question& question) {
  require_known_fields(question.fields, {"run", "with"});
  const Report one = report_of(asked_run_folder(question, "run"));
  const Report other = report_of(asked_run_folder(question, "with"));
  return {.json = parse_json(to_json_text(compare(one, other)))};
}

}  // namespace tessera
