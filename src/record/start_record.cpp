// SPDX-License-Identifier: Apache-2.0
#include "record/start_record.h"

#include <algorithm>
#include <fstream>

#include "record/step_record.h"

namespace tessera {
namespace {

struct SecondsField {
  const char* key;
  double StartRecord::*value;
};
constexpr SecondsField kNumbers[] = {{"unix_time", &StartRecord::began_unix_seconds},
                                     {"seconds", &StartRecord::seconds},
                                     {"waited_seconds", &StartRecord::waited_seconds},
                                     {"start_seconds", &StartRecord::start_seconds},
                                     {"work_seconds", &StartRecord::work_seconds},
                                     {"stall_seconds", &StartRecord::stall_seconds}};
struct StepNumber {
  const char* key;
  int64_t StartRecord::*value;
};
constexpr StepNumber kSteps[] = {{"first_step", &StartRecord::first_step},
                                 {"step", &StartRecord::last_step}};
struct CountField {
  const char* key;
  int StartRecord::*value;
};
constexpr CountField kCounts[] = {{"saves", &StartRecord::saves},
                                  {"ranks", &StartRecord::ranks},
                                  {"available", &StartRecord::available}};
struct TextField {
  const char* key;
  std::string StartRecord::*value;
};
constexpr TextField kTexts[] = {
    {"mesh", &StartRecord::mesh}, {"plan", &StartRecord::plan}, {"end", &StartRecord::end}};

constexpr double kClockSeconds = 1;  // by which clocks of two machines may differ

// What the last start in events.jsonl said.
struct LastStart {
  double unix_seconds = 0;
  int64_t resumed_step = -1;  // -1: there was none
  double stall_seconds = 0;
  int saves = 0;
};

LastStart last_start(const std::filesystem::path& folder) {
  std::ifstream file(folder / "events.jsonl");
  LastStart found;
  for (std::string line; std::getline(file, line);) {
    const Json json = parse_json(line);
    const Json* kind = json.find("event");
    if (!kind || !kind->text()) continue;
    if (*kind->text() == "start") {
      const Json *time = json.find("unix_time"), *step = json.find("step");
      found = {.unix_seconds = time ? time->number().value_or(0) : 0,
               .resumed_step = step ? step->integer().value_or(0) : 0};
    } else if (*kind->text() == "checkpoint") {
      const Json* seconds = json.find("seconds");
      found.stall_seconds += seconds ? seconds->number().value_or(0) : 0;
      ++found.saves;
    }
  }
  return found;
}

struct Ends {
  std::optional<StepRecord> first, last;
};

// The first and the last step after this one. Steps ascend, and the file may be long: it is read
// from its end.
Ends steps_after(const std::filesystem::path& path, int64_t step) {
  constexpr std::streamoff kFirstPiece = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  for (std::streamoff piece = kFirstPiece;; piece *= 4) {
    const std::streamoff begin = std::max<std::streamoff>(0, size - piece);
    file.clear();
    file.seekg(begin);
    std::string line;
    if (begin > 0) std::getline(file, line);  // cut short
    Ends found;
    bool reaches_back = begin == 0;
    while (std::getline(file, line)) {
      const std::optional<StepRecord> record = parse_step(line);
      if (!record || record->step <= 0) continue;
      if (record->step <= step) reaches_back = true;
      if (record->step <= step) continue;
      if (!found.first) found.first = record;
      found.last = record;
    }
    if (reaches_back) return found;
  }
}

}  // namespace

double StartRecord::tail_seconds() const {
  return std::max(0.0, seconds - start_seconds - work_seconds - stall_seconds);
}

StartRecord measure_start(const std::filesystem::path& folder, double began_unix_seconds,
                          double seconds) {
  StartRecord attempt{.began_unix_seconds = began_unix_seconds, .seconds = seconds};
  attempt.start_seconds = seconds;
  const LastStart start = last_start(folder);
  if (start.resumed_step < 0 || start.unix_seconds < began_unix_seconds - kClockSeconds)
    return attempt;
  const Ends ends = steps_after(folder / "metrics.jsonl", start.resumed_step);
  if (!ends.first || !known(ends.first->elapsed_seconds) || !known(ends.last->elapsed_seconds))
    return attempt;
  attempt.first_step = ends.first->step;
  attempt.last_step = ends.last->step;
  const double first_seconds = known(ends.first->step_seconds).value_or(0);
  const double all = ends.last->elapsed_seconds - ends.first->elapsed_seconds + first_seconds;
  attempt.saves = start.saves;
  attempt.stall_seconds = std::clamp(start.stall_seconds, 0.0, all);
  attempt.work_seconds = all - attempt.stall_seconds;
  attempt.start_seconds = std::clamp(
      start.unix_seconds - began_unix_seconds + ends.first->elapsed_seconds - first_seconds, 0.0,
      std::max(0.0, seconds - all));
  return attempt;
}

std::string to_json_line(const StartRecord& attempt) {
  Json json{{"event", "start_ended"}};
  for (const StepNumber& field : kSteps) json[field.key] = attempt.*field.value;
  for (const SecondsField& field : kNumbers) json[field.key] = attempt.*field.value;
  for (const CountField& field : kCounts) json[field.key] = attempt.*field.value;
  for (const TextField& field : kTexts) json[field.key] = attempt.*field.value;
  return json.dump();
}

void record_start(const std::filesystem::path& folder, const StartRecord& attempt) {
  const std::filesystem::path path = folder / "events.jsonl";
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return;  // the run has no record, or its disk is away
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << to_json_line(attempt) + "\n";
}

std::optional<StartRecord> start_of_json(const Json& json) {
  const Json* kind = json.find("event");
  if (!kind || !kind->text() || *kind->text() != "start_ended") return {};
  StartRecord attempt;
  const auto found = [&](const char* key) {
    const Json* value = json.find(key);
    return value ? *value : Json();
  };
  for (const StepNumber& field : kSteps)
    attempt.*field.value = found(field.key).integer().value_or(0);
  for (const SecondsField& field : kNumbers)
    attempt.*field.value = found(field.key).number().value_or(0);
  for (const CountField& field : kCounts)
    attempt.*field.value = static_cast<int>(found(field.key).integer().value_or(1));
  for (const TextField& field : kTexts)
    if (const Json text = found(field.key); text.text()) attempt.*field.value = *text.text();
  return attempt;
}

}  // namespace tessera
