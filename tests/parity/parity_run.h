// SPDX-License-Identifier: Apache-2.0
// Trains a case for ten steps through compiler and executor, and keeps what an oracle needs to do
// the same.
#pragma once

#include <string>
#include <vector>

#include "parity/parity_case.h"

namespace tessera {

struct NamedTensor {
  std::string name;
  TensorType type;
  std::vector<std::byte> bytes;
};

struct ParityRun {
  std::vector<NamedTensor> weights, batches, gradients, final_weights, averages;
  std::vector<double> losses, gradient_norms;
};

struct ParityMachine {
  int threads = 2;
  bool gpu = false;
};

// Weights are the master weights where there are any. Gradients are of step one, before clipping.
// Batches are named batch.<step>.<microbatch>.<input>.
ParityRun run_parity(const ParityCase& parity_case, DType dtype, ParityMachine machine);

}  // namespace tessera
