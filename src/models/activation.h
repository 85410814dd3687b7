// SPDX-License-Identifier: Apache-2.0
// Applies the activation of a config.
#pragma once

#include "models/model_config.h"
#include "ops/calls.h"

namespace tessera {

inline Tensor activate(Tensor x, Activation activation, SourceLine at = SourceLine::here()) {
  switch (activation) {
    case Activation::Relu:
      return relu(x, at);
    case Activation::Gelu:
      return gelu(x, "none", at);
    case Activation::GeluTanh:
      return gelu(x, "tanh", at);
    case Activation::Swiglu:
      return swiglu(x, at);
  }
  check_failed("activation is known", __FILE__, __LINE__, {});
}

}  // namespace tessera
