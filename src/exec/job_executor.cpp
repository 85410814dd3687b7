// SPDX-License-Identifier: Apache-2.0
#include "exec/job_executor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tessera {
namespace {

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

JobExecutor::JobExecutor(Program program, int threads, RankWorld& world)
    : own_(std::move(program), {.threads = threads, .world = &world}),
      everyone_(world.group(all_ranks(world.size()), "job")) {}

bool JobExecutor::gives(const Placement& placement, const FlatPlace& place) const {
  const Mesh& mesh = program().mesh;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const bool splits = static_cast<size_t>(axis) < placement.size() &&
                        placement[static_cast<size_t>(axis)].kind == AxisPlacement::Kind::Shard;
    const bool shards = place.shards > 1 && axis == program().shard_axis;
    if (!splits && !shards && mesh.coordinate(own_.rank(), axis) != 0) return false;
  }
  return true;
}

// Everyone else has zeros there, so a sum of words gives the bits.
void JobExecutor::put_together(std::span<std::byte> bytes) const {
  words_.assign((bytes.size() + 3) / 4, 0);
  std::memcpy(words_.data(), bytes.data(), bytes.size());
  const Parts parts = contiguous_parts(static_cast<int64_t>(words_.size()));
  auto* data = reinterpret_cast<std::byte*>(words_.data());
  everyone_->run({.kind = CollectiveKind::AllReduce,
                  .reduction = Reduction::Sum,
                  .dtype = DType::Int32,
                  .input = data,
                  .input_parts = parts,
                  .output = data,
                  .output_parts = parts,
                  .root = 0,
                  .name = "read a state"});
  std::memcpy(bytes.data(), words_.data(), bytes.size());
}

void JobExecutor::read_state(const StateBuffer& state, std::span<std::byte> bytes) const {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  if (gives(state.placement, state.place)) own_.read_state(state, bytes);
  put_together(bytes);
}

void JobExecutor::read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  if (gives(parameter.placement, parameter.gradient)) own_.read_gradient(parameter, bytes);
  put_together(bytes);
}

bool JobExecutor::any(bool mine) const {
  int32_t flag = mine ? 1 : 0;
  auto* data = reinterpret_cast<std::byte*>(&flag);
  const Parts parts = contiguous_parts(1);
  everyone_->run({.kind = CollectiveKind::AllReduce,
                  .reduction = Reduction::Max,
                  .dtype = DType::Int32,
                  .input = data,
                  .input_parts = parts,
                  .output = data,
                  .output_parts = parts,
                  .root = 0,
                  .name = "agree to stop"});
  return flag != 0;
}

}  // namespace tessera
