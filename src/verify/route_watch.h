// SPDX-License-Identifier: Apache-2.0
// What routers choose while a step runs, counted by layer and expert over all ranks: integers,
// which must agree on every mesh. It can also choose in their place, so that rounding has no part
// in it: then the experts of a token are a hash of layer, token and k alone, with gates by its own
// scores.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "exec/rank_executor.h"
#include "ir/module.h"
#include "models/model_config.h"

namespace tessera {

using RouteCounts = std::map<std::string, std::vector<int64_t>>;  // by layer, then by expert

class RouteWatch {
 public:
  // `module`: as compiled, which knows whose tokens a rank routes.
  RouteWatch(const Module& module, BatchShape microbatch, bool forces);

  // Looks at an instruction that has run; from the threads of all ranks.
  void see(int rank, const InstructionEvent& event);

  // Since the last call.
  RouteCounts take_counts();

 private:
  struct Tokens;  // those of one call of a router

  Tokens tokens_of(int rank, const InstructionEvent& event) const;
  void force(const InstructionEvent& event, const Tokens& tokens) const;
  void count(const InstructionEvent& event, const Tokens& tokens);

  std::map<std::string, Placement> placements_;  // of choices, by block class
  BatchShape microbatch_;
  bool forces_;
  std::mutex mutex_;
  RouteCounts counts_;
};

// Which experts a token is sent to where that is forced: `chosen` are different ones.
void forced_choice(const std::string& layer, int64_t token, int64_t experts,
                   std::span<int32_t> chosen);

}  // namespace tessera
