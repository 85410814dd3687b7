// SPDX-License-Identifier: Apache-2.0
// The names that safetensors gives to our dtypes.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/dtype.h"

namespace tessera {

inline constexpr std::array<std::pair<DType, std::string_view>, 4> kSafetensorsNames{
    {{DType::Fp64, "F64"}, {DType::Fp32, "F32"}, {DType::Bf16, "BF16"}, {DType::Int32, "I32"}}};

inline std::string_view safetensors_name(DType dtype) {
  for (const auto& [ours, theirs] : kSafetensorsNames)
    if (ours == dtype) return theirs;
  check_failed("dtype has a safetensors name", __FILE__, __LINE__, std::string(name(dtype)));
}

inline std::optional<DType> dtype_from_safetensors(std::string_view text) {
  for (const auto& [ours, theirs] : kSafetensorsNames)
    if (theirs == text) return ours;
  return std::nullopt;
}

}  // namespace tessera
