// SPDX-License-Identifier: Apache-2.0
// The dtypes in which a model is trained: that of weights and activations; whether gradients and
// moments have it too (pure), or its accumulator's dtype with master weights; and whether the
// layers' matmuls round their operands to 8 bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace tessera {

struct Precision {
  DType compute = DType::Fp32;
  bool pure = false;  // with stochastic rounding, because small updates would be lost otherwise
  bool fp8 = false;

  Precision() = default;
  Precision(DType dtype, bool is_pure = false, bool with_fp8 = false)
      : compute(dtype), pure(is_pure), fp8(with_fp8) {}
  bool operator==(const Precision&) const = default;
};

std::string name(Precision precision);  // "bf16", "pure_bf16", "fp8", "pure_fp8"
std::optional<Precision> precision_from_name(std::string_view text);

}  // namespace tessera
