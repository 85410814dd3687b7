// SPDX-License-Identifier: Apache-2.0
// Writes what a report reads: metrics.jsonl, a line per step, ranks.jsonl, a line every few steps,
// and events.jsonl, a line for each start with its facts, for what a run does between steps, and
// for how it ends. Lines of earlier starts stay when a run is resumed; one without an end was
// killed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "checkpoint/checkpoint_writer.h"
#include "files/json.h"
#include "files/record_file.h"
#include "record/rank_lines.h"
#include "record/run_facts.h"
#include "record/step_record.h"

namespace tessera {

// metrics.jsonl: one JSON object per step, one line each, flushed line by line so that a killed run
// loses none. Numbers are written so that reading them gives the same bits.
class MetricsWriter {
 public:
  // Begins a new file; `resumed_step` instead keeps an old one's lines up to that step and
  // continues after them.
  explicit MetricsWriter(const std::filesystem::path& path,
                         std::optional<int64_t> resumed_step = std::nullopt, Warn warn = {});

  void write(const StepRecord& record) { write_line(to_json_line(record)); }
  void write_line(std::string line) { file_.write(std::move(line)); }
  std::string losses() const { return file_.losses(); }
  // Seconds of each step of the old file that was not kept: it is computed again.
  const std::map<int64_t, double>& dropped() const { return dropped_; }

 private:
  std::map<int64_t, double> dropped_;
  LineFile file_;
};

// Gets every line of metrics.jsonl and events.jsonl as it is written, without the newline.
using LineSink = std::function<void(const std::string& line)>;

class RunRecorder {
 public:
  // Begins a new record, or continues an old one after `resumed_step`. `warn` is called where
  // something cannot be recorded; without it that is a UserError.
  RunRecorder(const std::filesystem::path& folder, const RunFacts& facts,
              std::optional<int64_t> resumed_step, const Warn& warn = {}, LineSink sink = {});

  double elapsed_seconds() const;
  void step(const StepRecord& record);
  // The times of every rank in a step. With `line` a line is written of those since the last one.
  void ranks(int64_t step, std::span<const RankTimes> times, bool line);
  // The rate that MFU is a share of, in an arithmetic such as "bf16"; empty: not known.
  void peak(double flops_per_second, std::string_view arithmetic, bool measured);
  // "evaluation", "checkpoint", "sample": after a step.
  void spent(const char* what, int64_t step, double seconds, int64_t bytes = 0);
  // Experts needed `need` times the rows of a pool: the step is repeated with more room.
  void grew_room(int64_t step, double need, double room, double seconds);
  void saved(const SaveOutcome& outcome);
  void failed(int64_t step, const std::string& text);
  void serves(uint16_t port);  // metrics
  void ended(int64_t step, const std::string& stopped_by);
  std::vector<std::string> losses() const;  // what could not be recorded; mostly nothing

 private:
  void event(const Json& json);

  LineSink sink_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::string interrupted_by_;  // before this start; found before the old metrics are replaced
  MetricsWriter metrics_;
  LineFile events_;
  std::optional<LineFile> ranks_;  // of a run on several ranks
  RankSums rank_sums_;
};

}  // namespace tessera
