// SPDX-License-Identifier: Apache-2.0
#include "record/run_record.h"

#include <fstream>
#include <map>

#include "core/error.h"
#include "files/json.h"

namespace tessera {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::optional<double> number(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found ? found->number() : std::nullopt;
}

int64_t integer(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found ? found->integer().value_or(0) : 0;
}

std::string text(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found && found->text() ? *found->text() : "";
}

void take_event(const Json& json, RunRecord& record) {
  if (const std::optional<StartRecord> attempt = start_of_json(json))
    record.starts.push_back(*attempt);
  RecordedEvent event{
      .kind = text(json, "event"),
      .step = integer(json, "step"),
      .seconds = number(json, "seconds").value_or(number(json, "written_seconds").value_or(0)),
      .bytes = integer(json, "bytes"),
      .elapsed_seconds = number(json, "elapsed_seconds").value_or(0),
      .text = text(json, "text"),
      .dropped_steps = integer(json, "dropped_steps"),
      .dropped_seconds = number(json, "dropped_seconds").value_or(0)};
  if (event.kind == "end") event.text = text(json, "stopped_by");
  if (event.kind == "start") event.text = text(json, "interrupted_by");
  if (const Json* facts = json.find("facts"); facts && event.kind == "start")
    record.facts = facts_of_json(*facts);
  if (event.kind == "peak") {
    record.peak_flops_per_second = number(json, "flops_per_second");
    record.peak_arithmetic = text(json, "arithmetic");
    const Json* measured = json.find("measured");
    record.peak_measured = measured && measured->flag().value_or(false);
  }
  record.events.push_back(std::move(event));
}

std::optional<Config> config_in(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  try {
    return load_config(path, {});
  } catch (const UserError&) {
    return {};  // of another version of tessera, say; the rest can still be reported
  }
}

}  // namespace

RunRecord read_run(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    throw user_error("there is no folder {}", folder.string())
        .help("give the folder that `tessera train --out` or `tessera simulate --out` wrote");
  if (!std::filesystem::exists(folder / "metrics.jsonl"))
    throw user_error("{} holds no run: there is no metrics.jsonl in it", folder.string())
        .help("give the folder that `tessera train --out` or `tessera simulate --out` wrote");
  RunRecord record{.folder = folder, .config = config_in(folder / "config.toml")};
  std::map<int64_t, StepRecord> steps;
  for (const std::string& line : lines_of(folder / "metrics.jsonl")) {
    const std::optional<StepRecord> step = parse_step(line);
    if (!step)
      ++record.lines_left_out;
    else if (step->step > 0)
      steps[step->step] = *step;
  }
  for (const auto& [number, step] : steps) record.steps.push_back(step);
  if (record.steps.empty())
    throw user_error("the run in {} has no finished step", folder.string())
        .help("wait until metrics.jsonl has a line, or look at what the run itself said");
  for (const std::string& line : lines_of(folder / "events.jsonl")) {
    const Json json = parse_json(line);
    if (json.is_object())
      take_event(json, record);
    else
      ++record.lines_left_out;
  }
  for (const std::string& line : lines_of(folder / kRanksFile)) {
    if (std::optional<RankLine> ranks = parse_rank_line(line))
      record.ranks.push_back(std::move(*ranks));
    else
      ++record.lines_left_out;
  }
  return record;
}

}  // namespace tessera
