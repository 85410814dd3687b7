// SPDX-License-Identifier: Apache-2.0
// In which dtypes a model is trained: that of weights in use and activations, and whether gradients
// and moments are kept in it too (pure) or in its accumulator, beside master weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace tessera {

struct Precision {
  DType compute = DType::Fp32;
  bool pure = false;  // rounded stochastically, or small updates would be lost

  Precision() = default;
  Precision(DType dtype, bool is_pure = false) : compute(dtype), pure(is_pure) {}
  bool operator==(const Precision&) const = default;
};

std::string name(Precision precision);  // "bf16", "pure_bf16"
std::optional<Precision> precision_from_name(std::string_view text);

}  // namespace tessera
