// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: one JSON object per step, one line each, flushed line by line so that a killed run
// loses none. Numbers are written so that reading them gives the same bits; one that is not known
// (NaN) is null.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "exec/rank_times.h"
#include "files/line_file.h"
#include "record/tensorboard_file.h"

namespace tessera {

struct StepMetrics {
  int64_t step = 0;  // steps done, this one included
  double loss = 0;
  double grad_norm = 0;
  double lr = 0;
  int64_t tokens = 0;  // trained on so far
  double tokens_per_second = 0;
  double mfu = 0;
  double hfu = 0;
  double step_seconds = 0;
  StepSplit split = {};  // of step_seconds: what is neither this nor data is something else
  std::optional<RankSpread> spread = {};  // where there are several ranks
  double data_seconds = 0;                // waited for data, within step_seconds
  double elapsed_seconds = 0;             // from the start of this run to the end of the step
  int64_t peak_bytes = 0;
  std::optional<double> held_out_loss;
  bool skipped = false;  // its gradient was not finite: nothing was learnt
  std::optional<double> checkpoint_stall_seconds = {};  // behind the step, where one was saved
};

std::string to_json_line(const StepMetrics& metrics);  // without the newline
// The same numbers, but for the step, under the same names.
std::vector<Scalar> scalars_of(const StepMetrics& metrics);

class MetricsWriter {
 public:
  // Begins a new file; `resumed_step` instead keeps an old one's lines up to that step and goes on
  // behind them.
  explicit MetricsWriter(const std::filesystem::path& path,
                         std::optional<int64_t> resumed_step = std::nullopt, Warn warn = {});

  void write(const StepMetrics& metrics) { file_.write(to_json_line(metrics)); }
  std::string losses() const { return file_.losses(); }

 private:
  LineFile file_;
};

}  // namespace tessera
