// SPDX-License-Identifier: Apache-2.0
#include "train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace tessera {
namespace {

// How much of the way from `begin` to `end` a step has gone, 0 to 1.
double progress(int64_t step, int64_t begin, int64_t end) {
  if (step <= begin) return 0;
  if (step >= end) return 1;
  return static_cast<double>(step - begin) / static_cast<double>(end - begin);
}

// What is left of the rate above the minimum, 1 to 0.
double remaining(const TrainConfig& train, int64_t step) {
  if (train.schedule == RateSchedule::Constant) return 1;
  if (train.schedule == RateSchedule::Wsd) {
    const auto decay = std::llround(train.decay_fraction * static_cast<double>(train.steps));
    return 1 -
           progress(step, std::max<int64_t>(train.steps - decay, train.warmup_steps), train.steps);
  }
  const double done = progress(step, train.warmup_steps, train.steps);
  if (train.schedule == RateSchedule::Linear) return 1 - done;
  return 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace

double learning_rate_at(const TrainConfig& train, int64_t step) {
  if (step < train.warmup_steps)
    return train.learning_rate * static_cast<double>(step + 1) /
           static_cast<double>(train.warmup_steps);
  const double low = train.min_learning_rate;
  return train.learning_rate * (low + (1 - low) * remaining(train, step));
}

std::string warmup_note(const TrainConfig& train) {
  if (train.warmup_steps <= train.steps || train.steps == 0) return "";
  return fmt::format(
      "note: train.warmup_steps ({}) exceeds train.steps ({}): the learning rate only rises to "
      "{:.3g} "
      "and never reaches {:.3g}",
      train.warmup_steps, train.steps, learning_rate_at(train, train.steps - 1),
      train.learning_rate);
}

}  // namespace tessera
