// SPDX-License-Identifier: Apache-2.0
// The questions `report` and `compare`: what `tessera report --json` prints of runs in the folders.
#include <algorithm>

#include "checkpoint/checkpoint_folder.h"
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

// Whether the last checkpoints of two runs have the same bits, by the digests of their files; null
// where they are not of the same step and mesh.
Json compare_weights(const FoundRun& one, const FoundRun& other) {
  if (!one.folder.folder("checkpoints") || !other.folder.folder("checkpoints")) return {};
  const auto newest = [](const FoundRun& run) {
    const std::vector<StepFolder> steps = step_folders(checkpoints_of(run.path));
    return steps.empty() ? std::nullopt : std::optional(read_manifest(steps.back().path));
  };
  try {
    const std::optional<Manifest> a = newest(one), b = newest(other);
    if (!a || !b || a->facts.position.step != b->facts.position.step ||
        a->facts.mesh != b->facts.mesh)
      return {};
    const bool same =
        std::ranges::equal(a->files, b->files, [](const StoredFile& left, const StoredFile& right) {
          return left.name == right.name && left.digest == right.digest;
        });
    return {{"step", a->facts.position.step}, {"same_bits", same}};
  } catch (const UserError&) {
    return {};  // removed meanwhile, or damaged: `checkpoint verify` says more
  }
}

}  // namespace

Answer answer_report(const Question& question) {
  require_known_fields(question.fields, {"run"});
  return {.json = parse_json(to_json_text(report_of(asked_run_folder(question, "run"))))};
}

Answer answer_compare(const Question& question) {
  require_known_fields(question.fields, {"run", "with"});
  const FoundRun one = asked_run_folder(question, "run");
  const FoundRun other = asked_run_folder(question, "with");
  Json json = parse_json(to_json_text(compare(report_of(one), report_of(other))));
  json["weights"] = compare_weights(one, other);
  return {.json = std::move(json)};
}

}  // namespace tessera
