// SPDX-License-Identifier: Apache-2.0
#include "program/pool_room.h"

#include "core/quantities.h"
#include "ir/op_list.h"
#include "ir/pool.h"
#include "program/mean_types.h"

namespace tessera {
namespace {

int64_t rows_of(const TensorType& pool) {
  return pool.size_of(kExpertDim) * pool.size_of(kSlotDim);
}

int64_t kept_in_pools(const ProgramClass& program_class) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program_class.buffers)
    if (buffer.lifetime == Lifetime::Slot && is_pool(buffer.type)) bytes += buffer.type.bytes();
  return bytes;
}

PoolRoom room_of(const Program& program) {
  PoolRoom room;
  for (const ProgramBlock& block : program.blocks) {
    const ProgramClass& own = program.class_of(block);
    room.kept_bytes += kept_in_pools(own);
    for (const Instruction& instruction : own.routine(RoutineKind::Forward)) {
      const auto* kernel = instruction.as<KernelInstruction>();
      if (!kernel || kernel->op != OpKind::order_routes) continue;
      const int source = kernel->results[1];
      const TensorType& pool = own.buffers[static_cast<size_t>(source)].type;
      if (rows_of(pool) <= room.rows) continue;
      room.rows = rows_of(pool);
      room.mean_rows = rows_of(mean_types_of(own, {&source, 1}).front());
    }
  }
  return room;
}

}  // namespace

PoolRoom pool_room_of(std::span<const Program> programs) {
  PoolRoom most;
  for (const Program& program : programs)
    if (const PoolRoom room = room_of(program); room.kept_bytes >= most.kept_bytes) most = room;
  return most;
}

std::string to_string(const PoolRoom& room) {
  return fmt::format(
      "pools of experts keep {} of each microbatch in flight, in {} rows of a layer: {:.3g} times "
      "the mean",
      short_bytes(room.kept_bytes), room.rows, room.factor());
}

Json to_json(const PoolRoom& room) {
  return {{"rows", room.rows}, {"mean_rows", room.mean_rows}, {"kept_bytes", room.kept_bytes}};
}

}  // namespace tessera
