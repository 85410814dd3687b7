// SPDX-License-Identifier: Apache-2.0
// One rank that plays all islands in turn, step by step, and combines their weights with plain
// loops over whole vectors: what islands are verified against. It shares no code with src/islands.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "config/run_spec.h"
#include "exec/executor.h"
#include "verify/step_outcome.h"

namespace tessera {

struct IslandPlay {
  IslandsConfig islands;
  int count = 2;
  int steps = 2;  // the last one exchanges everything
  uint64_t seed = 1;
  double learning_rate = 1e-3;
  int late_after = 0;  // the last island joins after this step; 0: it is there from the start
};

// Of the batch that island `island` has of a step.
void write_island_batch(Executor& executor, const IslandPlay& play, int64_t vocabulary, int island,
                        int step);

class IslandOracle {
 public:
  // `spec` is that of one island, on one rank in fp64.
  IslandOracle(const RunSpec& spec, const IslandPlay& play);

  bool takes_part(int island, int step) const {
    return play_.late_after == 0 || island + 1 < play_.count || step > play_.late_after;
  }
  // By island; of those that take part, what the step itself left.
  std::vector<StepOutcome> step(int step);
  // After the exchanges of that step: an island's parameters, and the outer ones, in the order of
  // their names, one after the other.
  const std::vector<double>& own(int island) const { return own_[static_cast<size_t>(island)]; }
  const std::vector<double>& outer() const { return outer_; }
  const std::vector<double>& momentum() const { return momentum_; }

 private:
  struct Pending {
    int64_t fragment = 0;
    int sent_step = 0;
    std::vector<std::vector<double>> own = {};  // of each island
  };
  using States = std::vector<std::vector<std::byte>>;

  StepOutcome play(int island, int step);
  void exchange(int step);
  void apply(const Pending& sent, int step);
  std::vector<double> travelled(std::vector<double> values) const;
  std::vector<double> parameters_now() const;
  void put_parameters(const std::vector<double>& values, bool averages);

  RunSpec spec_;
  IslandPlay play_;
  std::unique_ptr<Executor> executor_;
  std::vector<States> states_;  // of each island
  std::vector<std::vector<double>> own_;
  std::vector<double> outer_, momentum_;
  std::vector<Pending> pending_;
};

}  // namespace tessera
