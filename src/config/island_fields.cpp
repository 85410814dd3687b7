// SPDX-License-Identifier: Apache-2.0
#include "config/island_fields.h"

namespace tessera {

std::vector<ConfigField> island_fields(IslandsConfig& i) {
  return {
      {"islands.every", &i.every, kPositive,
       "with mesh.island: steps that islands take apart before they combine their weights"},
      {"islands.outer_optimizer", byte_of(i.outer_optimizer), choices(kOuterOptimizers),
       "how combined changes move the weights: nesterov, or average: all islands take the mean"},
      {"islands.outer_learning_rate", &i.outer_learning_rate, kNotNegative,
       "learning rate of nesterov on combined changes"},
      {"islands.outer_momentum", &i.outer_momentum, kBelowOne,
       "momentum of nesterov on combined changes"},
      {"islands.wire", byte_of(i.wire), choices(kIslandWires),
       "how changes travel: exact, in the dtype of the master weights; int8 and "
       "int4, integers with a scale for each 256"},
      {"islands.fragments", &i.fragments, Bounds{1, 4096},
       "parts of the weights that are exchanged one after the other, each once every "
       "islands.every steps"},
      {"islands.delay", &i.delay, kNotNegative,
       "steps between sending a fragment and applying the result, while training continues; 0: "
       "wait"},
      {"islands.hub",
       &i.hub,
       {},
       "address of the hub of islands that are separate jobs; empty: all are threads of this "
       "process"},
      {"islands.keys",
       &i.keys,
       {},
       "with islands.hub: folder with the keys of the hub and of this island; empty: the hub is on "
       "this machine"},
      {"islands.index", &i.index, kNotNegative, "with islands.hub: which island this job is"},
      {"islands.patience_seconds", &i.patience_seconds, kNotNegative,
       "with islands.hub: how long this job waits for the hub when it begins"},
  };
}

}  // namespace tessera
