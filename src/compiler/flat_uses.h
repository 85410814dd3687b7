// SPDX-License-Identifier: Apache-2.0
// Which blocks' flat weights a call reads, and whose gradients it writes: its own, and those of the
// owners of what it ties. Worked out once for all calls of a block's routine.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "program/program.h"

namespace tessera {

class FlatUses {
 public:
  FlatUses(const Module& module, const Program& program) : module_(module), program_(program) {}

  const std::vector<int>& weights_read(const ScriptCall& call) { return of(call).weights_read; }
  const std::vector<int>& gradients_written(const ScriptCall& call) {
    return of(call).gradients_written;
  }

 private:
  struct Uses {
    std::vector<int> weights_read, gradients_written;
  };
  const Uses& of(const ScriptCall& call);

  const Module& module_;
  const Program& program_;
  std::map<std::pair<int, RoutineKind>, Uses> uses_;  // by block
};

// Gradients of the class, or of one of its bundles, are reduced for every microbatch, not only the
// last.
bool reduces_every_microbatch(const BlockClass& block_class);
bool reduces_every_microbatch(const BlockClass& block_class, const Bundle& bundle);

}  // namespace tessera
