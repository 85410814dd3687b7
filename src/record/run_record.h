// SPDX-License-Identifier: Apache-2.0
// The folder of a run, as read: config.toml, metrics.jsonl, events.jsonl. Whatever a run did not
// write is absent here, never made up; a last line that was cut short is left out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "record/run_facts.h"

namespace tessera {

struct RecordedStep {
  int64_t step = 0;
  std::optional<double> loss = {}, held_out_loss = {};
  std::optional<double> tokens = {}, tokens_per_second = {}, mfu = {}, hfu = {};
  std::optional<double> step_seconds = {}, compute_seconds = {}, exposed_communication_seconds = {},
                        bubble_seconds = {}, data_seconds = {}, elapsed_seconds = {};
};

struct RecordedEvent {
  std::string kind =
      {};  // "start", "peak", "checkpoint", "saved", "evaluation", "sample", "failure", "end"
  int64_t step = 0;
  double seconds = 0;  // that it took; of "saved": behind the steps
  int64_t bytes = 0;
  double elapsed_seconds = 0;  // since the start
  std::string text = {};       // of a failure; the signal that stopped a run
};

struct RunRecord {
  std::filesystem::path folder = {};
  std::optional<Config> config = {};
  std::optional<RunFacts> facts = {};  // of the last start
  std::optional<double> peak_flops_per_second = {};
  bool peak_measured = false;
  std::vector<RecordedStep> steps = {};  // by step, each once
  std::vector<RecordedEvent> events = {};
  int lines_left_out = 0;  // of both files, that were no JSON objects

  bool simulated() const { return facts && facts->source == "simulate"; }
};

// A UserError where the folder is missing, holds no run, or the run has no step.
RunRecord read_run(const std::filesystem::path& folder);

}  // namespace tessera
