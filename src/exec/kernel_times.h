// SPDX-License-Identifier: Apache-2.0
// The seconds of each kernel of a script, run on its own on a device, and the work that its op
// counts. Calls with the same op, attributes, types and accumulation are timed once.
#pragma once

#include <vector>

#include "ir/op_def.h"
#include "program/program.h"

namespace tessera {

struct KernelTime {
  OpKind op;
  Attributes attributes;
  std::vector<TensorType> operands, results;
  int calls = 0;       // in one run of the script
  Cost cost;           // of one call; a result that is added into counts twice
  double seconds = 0;  // of one call; 0: its operands do not fit the GPU's memory
};

}  // namespace tessera
