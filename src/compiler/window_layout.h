// SPDX-License-Identifier: Apache-2.0
// Offsets for flat buffers that come and go within a script: gathered weights, gradients that are
// reduced for each microbatch, and what is staged of states on the host. Two that are alive
// together never overlap.
#pragma once

#include "ir/module.h"
#include "program/program.h"

namespace tessera {

struct WindowLayout {
  // By block: the offset of each flat buffer that comes and goes, by its name in the class.
  std::vector<std::vector<std::pair<std::string, int64_t>>> offsets;
  int64_t bytes = 0;
  int64_t weights_bytes = 0, gradient_bytes = 0, staged_bytes = 0;  // that make up these bytes

  int64_t offset(int block, std::string_view flat) const;  // kNone when it does not come and go
};

WindowLayout lay_out_windows(const Module& module, const Program& program);

}  // namespace tessera
