// SPDX-License-Identifier: Apache-2.0
#include "verify/island_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "config/compile_step.h"
#include "core/error.h"
#include "data/synthetic_batch.h"
#include "exec/make_executor.h"
#include "exec/train_step.h"

namespace tessera {
namespace {

std::vector<const StateBuffer*> sorted_parameters(const HostView& program) {
  std::vector<const StateBuffer*> found;
  for (const StateBuffer& state : program.states)
    if (state.spec.role == StateRole::Parameter && !state.spec.frozen) found.push_back(&state);
  std::sort(found.begin(), found.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  return found;
}

}  // namespace

void write_island_batch(Executor& executor, const IslandPlay& play, int64_t vocabulary, int island,
                        int step) {
  constexpr uint64_t kFarFromOtherSeeds = 7919;
  write_verification_batch(
      executor, step,
      {.seed = play.seed + kFarFromOtherSeeds * (static_cast<uint64_t>(island) + 1),
       .vocabulary = vocabulary});
}

IslandOracle::IslandOracle(const RunSpec& spec, const IslandPlay& play) : spec_(spec), play_(play) {
  executor_ = make_executor(spec_, compile(spec_).programs);
  initialise_states(*executor_, play.seed);
  States first;
  for (const StateBuffer& state : executor_->program().states) {
    first.emplace_back(static_cast<size_t>(state.type.bytes()));
    executor_->read_state(state, first.back());
  }
  states_.assign(static_cast<size_t>(play.count), first);
  outer_ = parameters_now();
  own_.assign(static_cast<size_t>(play.count), outer_);
  momentum_.assign(outer_.size(), 0);
}

std::vector<double> IslandOracle::parameters_now() const {
  std::vector<double> all;
  for (const StateBuffer* state : sorted_parameters(executor_->program())) {
    std::vector<double> values(static_cast<size_t>(state->type.num_elements()));
    executor_->read_state(*state, std::as_writable_bytes(std::span(values)));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

void IslandOracle::put_parameters(const std::vector<double>& values, bool averages) {
  const HostView& program = executor_->program();
  auto at = values.begin();
  for (const StateBuffer* state : sorted_parameters(program)) {
    const std::vector<double> part(at, at + state->type.num_elements());
    at += state->type.num_elements();
    executor_->write_state(*state, std::as_bytes(std::span(part)));
    for (const StateBuffer& other : program.states)
      if (averages && other.spec.role == StateRole::Average && other.spec.parameter == state->name)
        executor_->write_state(other, std::as_bytes(std::span(part)));
  }
}

StepOutcome IslandOracle::play(int island, int step) {
  const auto i = static_cast<size_t>(island);
  const std::vector<StateBuffer>& all = executor_->program().states;
  for (size_t s = 0; s < all.size(); ++s) executor_->write_state(all[s], states_[i][s]);
  put_parameters(own_[i],
                 play_.late_after > 0 && island + 1 == play_.count && step == play_.late_after + 1);
  write_island_batch(*executor_, play_, spec_.model.vocabulary, island, step);
  run_train_step(*executor_, {.learning_rate = play_.learning_rate, .step = step});
  StepOutcome outcome = outcome_of(*executor_);
  own_[i] = parameters_now();
  for (size_t s = 0; s < all.size(); ++s) executor_->read_state(all[s], states_[i][s]);
  return outcome;
}

std::vector<StepOutcome> IslandOracle::step(int step) {
  std::vector<StepOutcome> outcomes(own_.size());
  for (int island = 0; island < play_.count; ++island) {
    if (!takes_part(island, step)) continue;
    if (!takes_part(island, step - 1)) own_[static_cast<size_t>(island)] = outer_;
    outcomes[static_cast<size_t>(island)] = play(island, step);
  }
  exchange(step);
  return outcomes;
}

void IslandOracle::exchange(int step) {
  const IslandsConfig& islands = play_.islands;
  const bool last = step == play_.steps;
  for (const Pending& sent : std::exchange(pending_, {}))
    if (last || sent.sent_step + islands.delay <= step)
      apply(sent, step);
    else
      pending_.push_back(sent);
  for (int64_t f = 0; f < islands.fragments; ++f) {
    const bool due = (step - islands.every * (f + 1) / islands.fragments) % islands.every == 0;
    if (!due && !last) continue;
    const Pending sent{.fragment = f, .sent_step = step, .own = own_};
    if (last || islands.delay == 0)
      apply(sent, step);
    else
      pending_.push_back(sent);
  }
}

// As a change arrives at the other end.
std::vector<double> IslandOracle::travelled(std::vector<double> values) const {
  if (play_.islands.wire == IslandWire::Exact) return values;
  const double largest = play_.islands.wire == IslandWire::Int8 ? 127 : 7;
  for (size_t block = 0; block < values.size(); block += 256) {
    const size_t end = std::min(values.size(), block + 256);
    double most = 0;
    for (size_t i = block; i < end; ++i) most = std::max(most, std::abs(values[i]));
    const double scale = static_cast<float>(most / largest);
    for (size_t i = block; i < end; ++i)
      values[i] =
          scale == 0 ? 0 : scale * std::clamp(std::nearbyint(values[i] / scale), -largest, largest);
  }
  return values;
}

void IslandOracle::apply(const Pending& sent, int step) {
  const IslandsConfig& islands = play_.islands;
  const auto n = static_cast<int64_t>(outer_.size());
  const auto low = static_cast<size_t>(n * sent.fragment / islands.fragments);
  const auto high = static_cast<size_t>(n * (sent.fragment + 1) / islands.fragments);
  std::vector<double> mean(high - low);
  int present = 0;
  for (int i = 0; i < play_.count; ++i) {
    if (!takes_part(i, sent.sent_step)) continue;
    ++present;
    std::vector<double> change(mean.size());
    for (size_t e = low; e < high; ++e)
      change[e - low] = outer_[e] - sent.own[static_cast<size_t>(i)][e];
    change = travelled(std::move(change));
    for (size_t e = 0; e < mean.size(); ++e) mean[e] += change[e];
  }
  for (double& value : mean) value /= present;
  mean = travelled(std::move(mean));
  for (size_t e = low; e < high; ++e) {
    const double g = mean[e - low];
    if (islands.outer_optimizer == OuterOptimizer::Average) {
      outer_[e] -= g;
    } else {
      momentum_[e] = islands.outer_momentum * momentum_[e] + g;
      outer_[e] -= islands.outer_learning_rate * (g + islands.outer_momentum * momentum_[e]);
    }
    for (size_t i = 0; i < own_.size(); ++i)
      if (takes_part(static_cast<int>(i), step))
        own_[i][e] = outer_[e] + (own_[i][e] - sent.own[i][e]);
  }
}

}  // namespace tessera
