// SPDX-License-Identifier: Apache-2.0
#include "sim/arithmetic.h"

#include <array>

namespace tessera {
namespace {

constexpr std::array<std::string_view, kNumArithmetics> kNames{"fp64", "fp32", "bf16", "fp8"};

}  // namespace

std::string_view name(Arithmetic arithmetic) { return kNames[static_cast<size_t>(arithmetic)]; }

std::optional<Arithmetic> arithmetic_from_name(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == text) return static_cast<Arithmetic>(i);
  return {};
}

Arithmetic arithmetic_of(DType dtype) {
  const auto found = arithmetic_from_name(name(dtype));
  TESSERA_CHECK(found, "{} is not a float", name(dtype));
  return *found;
}

Arithmetic matmul_arithmetic(Precision precision) {
  return precision.fp8 ? Arithmetic::Fp8 : arithmetic_of(precision.compute);
}

}  // namespace tessera
