// SPDX-License-Identifier: Apache-2.0
#include "train/step_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "exec/device.h"
#include "exec/train_step.h"
#include "inference/evaluate_model.h"
#include "measure/utilisation.h"
#include "system/seconds_since.h"
#include "train/learning_rate.h"

namespace tessera {
namespace {

void add_spread(StepRecord& record, const std::vector<RankTimes>& ranks) {
  const RankSpread spread = spread_of(ranks);
  record.slowest_rank = spread.slowest_rank;
  record.slowest_rank_seconds = spread.slowest_seconds;
  record.fastest_rank_seconds = spread.fastest_seconds;
}

}  // namespace

StepRunner::StepRunner(const StepParts& parts, MfuPeak peak, ExpertRoom& room)
    : parts_(parts),
      peak_(std::move(peak)),
      room_(room),
      feeder_(parts.executor, parts.train.fields(), parts.config.train.batch) {
  TrainSummary& summary = parts_.outputs.summary();
  summary.parameters = parameter_count(parts_.model);
  summary.flops_per_token = flops_per_token(parts_.model, parts_.config.train.seq);
  summary.peak_arithmetic = peak_.arithmetic();
  if (!peak_.measured()) summary.peak_flops_per_second = peak_.flops_per_second();
}

void StepRunner::load_from(int64_t sample) {
  loader_ = std::make_unique<BatchLoader>(parts_.train, parts_.config.train.batch, sample);
}

StepRecord StepRunner::run(CheckpointPosition& position) {
  Executor& executor = parts_.executor;
  const TrainConfig& train = parts_.config.train;
  auto begin = std::chrono::steady_clock::now();
  const BatchLoader::Loaded loaded = loader_->next();
  const double rate = learning_rate_at(train, position.step);
  StepResults results;
  for (bool first = true; first || room_.grow(position.step + 1); first = false) {
    if (!first) begin = std::chrono::steady_clock::now();
    feeder_.feed(loaded.batch);
    results = run_train_step(executor, {.learning_rate = rate, .step = position.step + 1});
  }

  const int64_t tokens = parts_.facts.tokens_per_step;
  ++position.step;
  position.next_sample += train.batch;
  position.tokens += tokens;
  const std::vector<RankTimes> times = executor.rank_times();
  StepRecord record{.step = position.step,
                    .loss = results.loss,
                    .grad_norm = results.grad_norm,
                    .lr = rate,
                    .balance_loss = results.balance_loss,
                    .z_loss = results.z_loss,
                    .tokens = static_cast<double>(position.tokens),
                    .step_seconds = seconds_since(begin),
                    .times = mean_times(times),
                    .elapsed_seconds = parts_.outputs.elapsed_seconds(),
                    .peak_bytes = static_cast<double>(parts_.outputs.summary().planned_bytes)};
  if (!results.loads.empty()) {
    record.load_violation = largest_violation(results.loads);
    record.starving_experts = static_cast<double>(starving_experts(results.loads));
    if (position.step % train.log_every == 0 || position.step == train.steps)
      record.loads = results.loads;
  }
  record.times.data_seconds = loaded.waited_seconds;
  record.tokens_per_second = static_cast<double>(tokens) / record.step_seconds;
  if (times.size() > 1) {
    add_spread(record, times);
    parts_.outputs.record_ranks(position.step, times);
  }
  add_utilisation(record);
  add_energy(record);
  return record;
}

void StepRunner::add_energy(StepRecord& record) {
  const std::optional<double> before =
      std::exchange(joules_, require_device(parts_.config.run.device).joules());
  if (before && joules_) record.joules = *joules_ - *before;
}

// The peak is measured after the first step, so that nobody waits for it.
void StepRunner::add_utilisation(StepRecord& record) {
  TrainSummary& summary = parts_.outputs.summary();
  if (record.step == summary.first_step + 1) {
    summary.peak_flops_per_second = peak_.flops_per_second();
    parts_.outputs.record_peak(summary.peak_flops_per_second, peak_.arithmetic(), peak_.measured());
  }
  fastest_ = std::max(fastest_, summary.flops_per_token.causal * record.tokens_per_second);
  record.mfu = model_flops_utilisation(summary.flops_per_token.causal, record.tokens_per_second,
                                       summary.peak_flops_per_second);
  record.hfu = hardware_flops_utilisation(parts_.facts.hardware_flops, record.step_seconds,
                                          summary.peak_flops_per_second);
}

double StepRunner::held_out_loss(int64_t step) {
  const TrainConfig& train = parts_.config.train;
  int64_t samples = train.eval_batches * train.batch;
  if (const auto all = parts_.data.held_out_samples) samples = std::min(samples, *all);
  return sample_losses(parts_.executor, feeder_, *parts_.data.held_out, samples, train.batch, {},
                       [&] { return room_.grow(step); })
      .loss;
}

void StepRunner::raise_peak() {
  TrainSummary& summary = parts_.outputs.summary();
  if (parts_.outputs.writes_files() && summary.peak_flops_per_second > 0)
    summary.raised_peak_flops_per_second = peak_.raise_above(fastest_);
}

}  // namespace tessera
