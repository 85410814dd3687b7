// SPDX-License-Identifier: Apache-2.0
// The activations that matmul_epilogue can apply, or by whose derivatives it multiplies, and their
// names in the IR.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class EpilogueActivation : uint8_t { None, Relu, Gelu, GeluTanh, GeluGrad, GeluTanhGrad };

inline std::optional<EpilogueActivation> find_activation(std::string_view word) {
  if (word == "none") return EpilogueActivation::None;
  if (word == "relu") return EpilogueActivation::Relu;
  if (word == "gelu") return EpilogueActivation::Gelu;
  if (word == "gelu_tanh") return EpilogueActivation::GeluTanh;
  if (word == "gelu_grad") return EpilogueActivation::GeluGrad;
  if (word == "gelu_tanh_grad") return EpilogueActivation::GeluTanhGrad;
  return std::nullopt;
}

// The product is then the gradient of the activation's result.
inline bool is_gradient(EpilogueActivation activation) {
  return activation == EpilogueActivation::GeluGrad ||
         activation == EpilogueActivation::GeluTanhGrad;
}

}  // namespace tessera
