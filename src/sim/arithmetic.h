// SPDX-License-Identifier: Apache-2.0
// The arithmetic in which a device multiplies, each with its own peak: the keys of a cluster file's
// [device.peak_flops]. Fp8 is that of matmul_fp8, whose operands are e4m3 or e5m2.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/dtype.h"
#include "core/precision.h"

namespace tessera {

// From the widest.
enum class Arithmetic : uint8_t { Fp64, Fp32, Bf16, Fp8 };
inline constexpr int kNumArithmetics = 4;

std::string_view name(Arithmetic arithmetic);  // "fp8"
std::optional<Arithmetic> arithmetic_from_name(std::string_view text);
Arithmetic arithmetic_of(DType dtype);  // of a float
// The arithmetic of most of its matmuls. MFU and HFU are shares of the peak in it.
Arithmetic matmul_arithmetic(Precision precision);

}  // namespace tessera
