// SPDX-License-Identifier: Apache-2.0
// One start of a supervised run, from the start of its processes to their end: on which ranks,
// which steps it made, and where its time went. The supervisor measures it when it has ended,
// before the next start drops steps that were not saved, and adds it to events.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "files/json.h"

namespace tessera {

// How it ended: its ranks failed; it was asked to save, to continue on other ranks; a person or the
// scheduler stopped it; all steps are done.
inline constexpr std::string_view kStartFailed = "failed", kStartMoved = "moved",
                                  kStartStopped = "stopped", kStartDone = "done";

struct StartRecord {
  double began_unix_seconds = 0;
  double seconds = 0;                     // until all its processes had ended
  double waited_seconds = 0;              // before it, for ranks that were away
  int64_t first_step = 0, last_step = 0;  // 0: it made none
  double start_seconds = 0;               // until the first of them began
  double work_seconds = 0;   // from there to the end of the last one, without the stalls
  double stall_seconds = 0;  // by checkpoints
  int saves = 0;             // that stalled it
  int ranks = 1, available = 1;
  std::string mesh = {}, plan = {};
  std::string end = {};

  int64_t steps() const { return last_step > 0 ? last_step - first_step + 1 : 0; }
  double step_seconds() const { return work_seconds / static_cast<double>(steps()); }
  double tail_seconds() const;  // after its last step
};

// What the record in `folder` says of the start that ran there from `began_unix_seconds` on for
// `seconds`. A start that left no record made no step.
StartRecord measure_start(const std::filesystem::path& folder, double began_unix_seconds,
                          double seconds);

std::string to_json_line(const StartRecord& attempt);  // without the newline
// A line of events.jsonl, while nobody else writes it. What cannot be written is lost.
void record_start(const std::filesystem::path& folder, const StartRecord& attempt);
// Nothing where it is another event.
std::optional<StartRecord> start_of_json(const Json& json);

}  // namespace tessera
