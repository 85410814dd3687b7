// SPDX-License-Identifier: Apache-2.0
#include "plan_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/synthetic_batch.h"
#include "exec/mesh_executor.h"
#include "exec/train_step.h"
#include "ir/pool.h"

namespace tessera {
namespace {

constexpr auto kPattern = std::byte{0xA5};
constexpr std::array kArenas{Lifetime::Persistent, Lifetime::Window, Lifetime::Slot,
                             Lifetime::Scratch};

// Ranks know their places from values that are there from the start.
void fill(const CpuExecutor& rank) {
  const auto window = rank.arena(Lifetime::Window);
  const std::vector<std::byte> before(window.begin(), window.end());
  for (const Lifetime lifetime : kArenas) {
    const auto arena = rank.arena(lifetime);
    std::fill(arena.begin(), arena.end(), kPattern);
  }
  for (const RankValue& value : rank.program().rank_values)
    std::memcpy(window.data() + value.offset, before.data() + value.offset, sizeof(int32_t));
}

// Workspaces and pools of experts have room for the worst case, so that their end need not be
// reached: where one lies last in the scratch arena, its first byte is what must be.
int64_t must_be_reached(const Program& program, Lifetime lifetime, int64_t bytes) {
  int64_t reached = bytes - kBufferAlignment;
  if (lifetime != Lifetime::Scratch) return reached;
  for (const ProgramClass& program_class : program.classes)
    for (const auto& routine : program_class.routines)
      for (const Instruction& instruction : routine)
        if (instruction.workspace_offset + instruction.workspace_bytes > reached)
          reached = std::min(reached, instruction.workspace_offset);
  for (const ProgramBlock& block : program.blocks) {
    const auto& buffers = program.classes[static_cast<size_t>(block.class_index)].buffers;
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].lifetime == lifetime && is_pool(buffers[i].type) &&
          block.offsets[i] + buffers[i].type.bytes() > bytes - kBufferAlignment)
        reached = std::min(reached, block.offsets[i]);
  }
  return reached;
}

void expect_reached(const CpuExecutor& rank) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const Lifetime lifetime : kArenas) {
    const auto arena = rank.arena(lifetime);
    if (arena.empty()) continue;
    size_t end = arena.size();
    while (end > 0 && arena[end - 1] == kPattern) --end;
    const auto bytes = static_cast<int64_t>(arena.size());
    EXPECT_GT(static_cast<int64_t>(end), must_be_reached(rank.program(), lifetime, bytes))
        << name(lifetime) << " of rank " << rank.rank() << ", planned " << bytes;
    for (size_t i = 0; i < (page - arena.size() % page) % page; ++i)
      ASSERT_EQ(arena.data()[arena.size() + i], std::byte{0})
          << name(lifetime) << " of rank " << rank.rank() << ", byte " << i << " after its end";
  }
}

}  // namespace

void expect_memory_to_the_byte(const PlanCase& plan) {
  const RunSpec spec = plan.spec();
  MeshExecutor mesh(compile(spec).programs, {});
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) fill(mesh.rank(rank));
  initialise_states(mesh, 1);
  write_verification_batch(mesh, 1, {.seed = 1, .vocabulary = spec.model.vocabulary});
  run_train_step(mesh, {.learning_rate = 1e-3, .step = 1});
  mesh.run("evaluate");
  EXPECT_TRUE(std::isfinite(mesh.read_step("loss")));
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) expect_reached(mesh.rank(rank));
}

}  // namespace tessera
