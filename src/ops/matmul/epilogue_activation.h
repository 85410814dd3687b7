// SPDX-License-Identifier: Apache-2.0
// The activations that matmul_epilogue can apply, and their words in the IR.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class EpilogueActivation : uint8_t { None, Relu, Gelu, GeluTanh };

inline std::optional<EpilogueActivation> find_activation(std::string_view word) {
  if (word == "none") return EpilogueActivation::None;
  if (word == "relu") return EpilogueActivation::Relu;
  if (word == "gelu") return EpilogueActivation::Gelu;
  if (word == "gelu_tanh") return EpilogueActivation::GeluTanh;
  return std::nullopt;
}

}  // namespace tessera
