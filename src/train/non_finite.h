// SPDX-License-Identifier: Apache-2.0
// A step whose loss or gradient norm is not finite: which tensor was the first that is not.
#pragma once

#include <string>

#include "exec/executor.h"

namespace tessera {

// "the gradient of layer.1.wq", "the loss". All processes of a job ask at the same point.
std::string first_non_finite(const Executor& executor, double loss);

}  // namespace tessera
