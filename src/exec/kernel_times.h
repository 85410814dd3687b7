// SPDX-License-Identifier: Apache-2.0
// Every kernel of a script by itself on the GPU: its seconds, beside the work that its op counts.
// Builds without CUDA have the same functions, which say so.
#pragma once

#include <functional>
#include <string>
#include <string_view>
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

// Calls alike in op, attributes, types and accumulation are one row. Operands are no model's, and
// lie apart, so that a call finds nothing in the cache; batches are plain causal ones. `wanted`
// picks ops. Each one runs for `warm_seconds` first: a power limit takes tenths of one to show.
std::vector<KernelTime> time_cuda_kernels(const Program& program, std::string_view script,
                                          const std::function<bool(OpKind)>& wanted,
                                          double warm_seconds = 0);

// Bytes per second, read and written, of a large copy within the GPU's memory.
double measure_cuda_copy_rate();

}  // namespace tessera
