// SPDX-License-Identifier: Apache-2.0
#include "train/islands_record.h"

#include <algorithm>

#include "mesh/mesh.h"

namespace tessera {
namespace {

using Figure = double StepRecord::*;

double mean(const std::vector<StepRecord>& islands, Figure figure) {
  double sum = 0;
  for (const StepRecord& each : islands) sum += each.*figure;
  return sum / static_cast<double>(islands.size());
}

double total(const std::vector<StepRecord>& islands, Figure figure) {
  return mean(islands, figure) * static_cast<double>(islands.size());
}

double most(const std::vector<StepRecord>& islands, Figure figure) {
  double largest = islands.front().*figure;
  for (const StepRecord& each : islands) largest = std::max(largest, each.*figure);
  return largest;
}

}  // namespace

StepRecord record_of_islands(const std::vector<StepRecord>& islands) {
  StepRecord all = islands.front();
  for (const Figure figure :
       {&StepRecord::loss, &StepRecord::grad_norm, &StepRecord::balance_loss, &StepRecord::z_loss,
        &StepRecord::mfu, &StepRecord::hfu, &StepRecord::held_out_loss})
    all.*figure = mean(islands, figure);
  for (const Figure figure :
       {&StepRecord::tokens, &StepRecord::tokens_per_second, &StepRecord::peak_bytes})
    all.*figure = total(islands, figure);
  for (const Figure figure : {&StepRecord::step_seconds, &StepRecord::elapsed_seconds,
                              &StepRecord::checkpoint_stall_seconds})
    all.*figure = most(islands, figure);
  StepTimes times = islands.front().times;
  for (size_t i = 1; i < islands.size(); ++i) times += islands[i].times;
  times /= static_cast<double>(islands.size());
  all.times = times;
  for (const Figure figure : {&StepRecord::slowest_rank, &StepRecord::slowest_rank_seconds,
                              &StepRecord::fastest_rank_seconds})
    all.*figure = kUnknown;
  all.loads.clear();
  return all;
}

IslandsRecord::IslandsRecord(const Config& config, int islands, bool quiet)
    : config_(config),
      islands_(islands),
      quiet_(quiet),
      progress_({.stream = stderr,
                 .live = !quiet && is_terminal(stderr),
                 .total_steps = config.train.steps,
                 .log_every = quiet ? config.train.steps + 1 : config.train.log_every}) {}

void IslandsRecord::begin(RunFacts one, std::optional<int64_t> resumed_step) {
  one.mesh = to_string(Mesh(config_.mesh));
  one.ranks *= islands_;
  one.tokens_per_step *= islands_;
  one.hardware_flops *= islands_;
  one.recompute_flops *= islands_;
  one.rank_classes.clear();
  const std::lock_guard lock(mutex_);
  recorder_ = std::make_unique<RunRecorder>(
      config_.run.out, one, resumed_step,
      [this](const std::string& text) { progress_.note("warning: " + text); });
}

void IslandsRecord::step(int island, const StepRecord& record) {
  const std::lock_guard lock(mutex_);
  std::map<int, StepRecord>& come = open_[record.step];
  come[island] = record;
  if (static_cast<int>(come.size()) < islands_) return;
  std::vector<StepRecord> all;
  for (const auto& [unused, each] : come) all.push_back(each);
  open_.erase(record.step);
  const StepRecord together = record_of_islands(all);
  losses_.push_back(together.loss);
  step_ = together.step;
  if (recorder_) recorder_->step(together);
  if (quiet_) return;
  if (known(together.held_out_loss))
    progress_.note(
        fmt::format("step {}: held-out loss {:.4f}", together.step, together.held_out_loss));
  progress_.step(together);
}

void IslandsRecord::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  progress_.note(text);
}

void IslandsRecord::failed(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (recorder_) recorder_->failed(step_, text);
}

void IslandsRecord::end(const std::string& stopped_by) {
  const std::lock_guard lock(mutex_);
  progress_.finish();
  if (recorder_) recorder_->ended(step_, stopped_by);
}

}  // namespace tessera
