// SPDX-License-Identifier: Apache-2.0
// Writes what a report reads: metrics.jsonl, a line per step, and events.jsonl, a line for each
// start with its facts, for what a run does between steps, and for how it ends. Lines of earlier
// starts stay when a run is resumed; one without an end was killed.
#pragma once

#include <chrono>

#include "checkpoint/checkpoint_writer.h"
#include "record/metrics.h"
#include "record/run_facts.h"

namespace tessera {

class RunRecorder {
 public:
  // Begins a new record, or continues an old one after `resumed_step`. `warn` is called where
  // something cannot be recorded; without it that is a UserError.
  RunRecorder(const std::filesystem::path& folder, const RunFacts& facts,
              std::optional<int64_t> resumed_step, const Warn& warn = {});

  double elapsed_seconds() const;
  void step(const StepRecord& record) { metrics_.write(record); }
  // The rate that MFU is a share of, in an arithmetic such as "bf16"; empty: not known.
  void peak(double flops_per_second, std::string_view arithmetic, bool measured);
  // "evaluation", "checkpoint", "sample": after a step.
  void spent(const char* what, int64_t step, double seconds, int64_t bytes = 0);
  void saved(const SaveOutcome& outcome);
  void failed(int64_t step, const std::string& text);
  void ended(int64_t step, const std::string& stopped_by);
  std::vector<std::string> losses() const;  // what could not be recorded; mostly nothing

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  MetricsWriter metrics_;
  LineFile events_;
};

}  // namespace tessera
