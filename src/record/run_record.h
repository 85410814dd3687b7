// SPDX-License-Identifier: Apache-2.0
// The folder of a run, as read: config.toml, metrics.jsonl, ranks.jsonl, events.jsonl. Whatever a
// run did not write is absent here, never made up; a last line that was cut short is left out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "record/rank_lines.h"
#include "record/run_facts.h"
#include "record/start_record.h"
#include "record/step_record.h"

namespace tessera {

struct RecordedEvent {
  std::string kind =
      {};  // "start", "peak", "checkpoint", "saved", "evaluation", "sample", "failure", "end"
  int64_t step = 0;
  double seconds = 0;  // that it took; of "saved": beside the steps
  int64_t bytes = 0;
  double elapsed_seconds = 0;  // since the start
  std::string text = {};      // of a failure; the signal that stopped a run; what interrupted a run
                              // before this start
  int64_t dropped_steps = 0;  // that this start computes again
  double dropped_seconds = 0;
};

struct RunRecord {
  std::filesystem::path folder = {};
  std::optional<Config> config = {};
  std::optional<RunFacts> facts = {};  // of the last start
  std::optional<double> peak_flops_per_second = {};
  std::string peak_arithmetic = {};  // "bf16"; empty: not known
  bool peak_measured = false;
  std::vector<StepRecord> steps = {};  // by step, each once
  std::vector<RecordedEvent> events = {};
  std::vector<StartRecord> starts = {};  // of a supervised run, one for each start that has ended
  std::vector<RankLine> ranks = {};      // of a run on several ranks, a line every few steps
  int lines_left_out = 0;                // of all files, that were none of theirs

  bool simulated() const { return facts && facts->source == "simulate"; }
};

// A UserError where the folder is missing, holds no run, or the run has no step.
RunRecord read_run(const std::filesystem::path& folder);

}  // namespace tessera
