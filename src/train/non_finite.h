// SPDX-License-Identifier: Apache-2.0
// A step whose loss or gradient norm is not finite: what to do about it, and which tensor was the
// first that is not.
#pragma once

#include <string>

#include "config/config.h"
#include "exec/executor.h"

namespace tessera {

enum class NonFinitePolicy : uint8_t { Stop, Skip, Rewind };
NonFinitePolicy non_finite_policy(const Config& config);  // train.on_non_finite

// "the gradient of layer.1.wq", "the loss". All processes of a job ask at the same point.
std::string first_non_finite(const Executor& executor, double loss);

}  // namespace tessera
