// SPDX-License-Identifier: Apache-2.0
// What a person sees while a run goes on: one line that rewrites itself on a terminal, plain lines
// every few steps elsewhere. Text that must stay (samples, held-out losses) goes through `note`.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "record/step_record.h"

namespace tessera {

// "step 120/1000  loss 2.3456  18.3k tok/s  mfu 41.0%  0.12 GB  1m40s left"
std::string progress_line(const StepRecord& record, int64_t total_steps, double seconds_left);

struct ProgressOptions {
  std::FILE* stream = stderr;
  bool live = false;  // the stream is a terminal
  int64_t total_steps = 0;
  int64_t log_every = 1;
};

bool is_terminal(std::FILE* stream);

class Progress {
 public:
  explicit Progress(ProgressOptions options) : options_(options) {}
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const StepRecord& record);
  void note(std::string_view text);
  void finish();  // leaves the last live line standing

 private:
  void clear_line();

  ProgressOptions options_;
  double mean_step_seconds_ = 0;  // recent steps count most
  size_t shown_width_ = 0;        // of the live line on the screen
  std::chrono::steady_clock::time_point last_shown_{};
};

}  // namespace tessera
