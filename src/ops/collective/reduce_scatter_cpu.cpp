// SPDX-License-Identifier: Apache-2.0
// Sums in rank order.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void reduce_scatter_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Collective collective = collective_of(call, CollectiveKind::ReduceScatter);
  collective.input_parts = parts_along_dim(call, *call.operand(0).type);
  collective.output_parts = one_part_like(collective.input_parts);
  communicate(call, group_of(call), {collective});
}

}  // namespace tessera
