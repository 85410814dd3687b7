// SPDX-License-Identifier: Apache-2.0
// The collectives that a program can ask for. What a machine makes of them is in comm/.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class CollectiveOp : uint8_t {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Shift,
  PutRows,
  TakeRows
};
inline constexpr std::array<std::string_view, 7> kCollectiveOpNames{
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "shift", "put_rows", "take_rows"};

// Rows of experts, as many as there are at run time.
inline bool moves_rows(CollectiveOp op) {
  return op == CollectiveOp::PutRows || op == CollectiveOp::TakeRows;
}

inline std::string_view name(CollectiveOp op) {
  return kCollectiveOpNames.at(static_cast<size_t>(op));
}

inline std::optional<CollectiveOp> collective_from_name(std::string_view text) {
  const auto found = std::ranges::find(kCollectiveOpNames, text);
  if (found == kCollectiveOpNames.end()) return std::nullopt;
  return static_cast<CollectiveOp>(found - kCollectiveOpNames.begin());
}

}  // namespace tessera
