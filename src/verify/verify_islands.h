// SPDX-License-Identifier: Apache-2.0
// Islands as they train, each under its plan, beside one rank that plays all of them in turn: every
// step's losses, gradients and parameters of each island, and the outer parameters.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "islands/island_link.h"
#include "train/island_exchange.h"
#include "verify/island_oracle.h"
#include "verify/step_judge.h"

namespace tessera {

struct VerifyIslandsOptions {
  IslandPlay play;
  // Called before each step. False: nobody wants to know any more.
  std::function<bool(int step)> progress = {};
  // Tests break what an island does with it.
  std::function<std::unique_ptr<IslandLink>(int island, std::unique_ptr<IslandLink>)> change_link =
      {};
  std::function<void(int island, IslandExchangeOptions&)> change_options = {};
  // Just before an island's exchanges of a step.
  std::function<void(int island, int step, Executor&)> change_island = {};
};

struct VerifyIslandsReport : StepErrors {
  WorstError combined;  // parameters of each island after its exchanges, and the outer state
  int steps = 0;
  int exchanges = 0;  // of each island, fragments counted
  bool cancelled = false;

  bool equal() const;
};

// The rhythm to verify with: as few steps apart as fragments and delay need, and at least two
// rounds.
IslandPlay play_of(const Config& config, int steps);

// `spec` is that of one island, in fp64.
VerifyIslandsReport verify_islands(const RunSpec& spec, const VerifyIslandsOptions& options);

}  // namespace tessera
