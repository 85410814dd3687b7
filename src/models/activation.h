// SPDX-License-Identifier: Apache-2.0
// Applies the activation of a config.
#pragma once

#include "models/model_config.h"
#include "ops/calls.h"

namespace tessera {

inline Tensor activate(Tensor x, Activation activation) {
  switch (activation) {
    case Activation::Relu:
      return relu(x);
    case Activation::Gelu:
      return gelu(x, "none");
    case Activation::GeluTanh:
      return gelu(x, "tanh");
    case Activation::Swiglu:
      return swiglu(x);
  }
  check_failed("activation is known", __FILE__, __LINE__, {});
}

}  // namespace tessera
