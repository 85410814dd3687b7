// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds beside the states of a program: lists of numbers that the host keeps,
// such as the outer state of islands. Their names begin with a word that no state has.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace tessera {

struct SideTensor {
  std::string name;
  DType dtype = DType::Fp32;
  std::vector<std::byte> bytes = {};
};
using SideTensors = std::vector<SideTensor>;

inline constexpr std::string_view kIslandTensors = "islands.";
constexpr bool is_side_tensor(std::string_view name) { return name.starts_with(kIslandTensors); }

}  // namespace tessera
