// SPDX-License-Identifier: Apache-2.0
// What a training step leaves, whole and as doubles, so that executors can be compared.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/tensor_type.h"
#include "exec/executor.h"

namespace tessera {

struct OutcomeTensor {
  std::vector<double> values;
  DType dtype = DType::Fp64;  // that it is kept in
  std::string parameter;      // whose gradient moves it
  double balance_rate = 0;    // above 0: the loads of experts move it, by this much
};
using OutcomeTensors = std::map<std::string, OutcomeTensor>;

struct StepOutcome {
  double loss = 0, grad_norm = 0;
  std::map<std::string, double> router_losses = {};  // by name; none without routers
  OutcomeTensors gradients;
  OutcomeTensors parameters;  // master copies where there are any, and moving averages
  OutcomeTensors loads = {};  // of the experts, by block
};

// To read a tensor into: NaNs in every float dtype, so that a piece that no rank holds shows.
std::vector<std::byte> unknown_bytes(const TensorType& type);

StepOutcome outcome_of(const Executor& executor);

}  // namespace tessera
