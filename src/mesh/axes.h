// SPDX-License-Identifier: Apache-2.0
// The axes that a mesh may have, as one table. The planner fills a mesh in this order: the last
// axis varies fastest over ranks, so that its groups are neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class AxisKind : uint8_t { Island, Pp, Dp, Fsdp, Ep, Cp, Tp };

struct AxisRow {
  AxisKind axis;
  std::string_view name;     // as a user writes it
  std::string_view summary;  // what its ranks divide among themselves
  // What it splits where plan.dims says nothing else: each op the first of these that it has.
  // Empty: whole blocks, or nothing of a step.
  std::array<std::string_view, 6> default_dims = {};
  bool splits_data = false;  // its ranks have samples of their own
  // Its ranks hold the same parameters, but for those that it splits: states can be sharded over
  // it.
  bool replicates_parameters = false;
  bool shards_states = false;  // plan.zero is 3 where it is left out, and 0 is refused
  // States that rest in shards over fsdp or dp rest in shards over it too.
  bool joins_shards = false;
  // Its parts are not ranks of one program but islands: each runs the program of the other axes
  // with its own share of every batch, and they combine their weights every few steps.
  bool apart = false;
  bool wants_near = false;  // its collectives delay every layer: ranks should share a machine

  std::span<const std::string_view> dims() const {
    size_t count = 0;
    while (count < default_dims.size() && !default_dims[count].empty()) ++count;
    return std::span(default_dims).first(count);
  }
};

inline constexpr auto kAxes = std::to_array<AxisRow>({
    {.axis = AxisKind::Island,
     .name = "island",
     .summary = "the samples, and combine their weights every few steps (local SGD)",
     .apart = true},
    {.axis = AxisKind::Pp, .name = "pp", .summary = "the blocks, in stages (pipeline parallelism)"},
    {.axis = AxisKind::Dp,
     .name = "dp",
     .summary = "the samples (data parallelism)",
     .default_dims = {"batch", "slot"},
     .splits_data = true,
     .replicates_parameters = true},
    {.axis = AxisKind::Fsdp,
     .name = "fsdp",
     .summary = "the samples, and the states at rest (sharded data parallelism)",
     .default_dims = {"batch", "slot"},
     .splits_data = true,
     .replicates_parameters = true,
     .shards_states = true},
    {.axis = AxisKind::Ep,
     .name = "ep",
     .summary = "the experts, and the samples of all else (expert parallelism)",
     .default_dims = {"expert", "batch"},
     .splits_data = true,
     .replicates_parameters = true,
     .joins_shards = true},
    {.axis = AxisKind::Cp,
     .name = "cp",
     .summary = "the tokens of each sample (context parallelism)",
     .default_dims = {"seq", "slot"},
     .replicates_parameters = true},
    {.axis = AxisKind::Tp,
     .name = "tp",
     .summary = "heads, mlp and vocabulary (tensor parallelism)",
     .default_dims = {"kv_heads", "group", "mlp", "vocab", "shared_mlp", "expert_mlp"},
     .wants_near = true},
});
inline constexpr size_t kNumAxes = kAxes.size();
static_assert([] {
  for (size_t i = 0; i < kNumAxes; ++i)
    if (kAxes[i].axis != static_cast<AxisKind>(i)) return false;
  return true;
}());

// A plan may split tp in two; the user's name of both parts is "tp".
constexpr std::string_view user_name(std::string_view axis) {
  return axis.substr(0, axis.find('.'));
}
// By the user's name, or a part's; null: unknown.
const AxisRow* find_axis(std::string_view name);
std::vector<std::string> axis_names();

}  // namespace tessera
