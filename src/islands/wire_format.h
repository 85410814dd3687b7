// SPDX-License-Identifier: Apache-2.0
// How a change of parameters travels: `exact` in the dtype of the master weights, or as integers of
// 8 or 4 bits: blocks of 256 values, each block a fp32 scale and then its values, rounded to
// nearest. Little endian; of two values in a byte, the first has the low bits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "islands/island_options.h"

namespace tessera {

struct WireFormat {
  IslandWire wire = IslandWire::Exact;
  DType dtype = DType::Fp32;  // of the master weights: fp32 or fp64

  static constexpr int64_t kBlock = 256;

  int64_t bytes(int64_t elements) const;
  // Finite values only.
  std::vector<std::byte> encode(std::span<const double> values) const;
  // A UserError where `bytes` are not that many values, or one is not finite.
  void decode(std::span<const std::byte> bytes, std::span<double> values) const;
};

}  // namespace tessera
