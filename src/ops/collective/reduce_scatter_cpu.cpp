// SPDX-License-Identifier: Apache-2.0
// Sums in rank order.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void reduce_scatter_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator& group = group_of(call);
  Collective collective = collective_of(call, CollectiveKind::ReduceScatter);
  const TensorType& whole = *call.operand(0).type;
  const auto dim = static_cast<size_t>(whole.index_of(call.attributes.word("dim")));
  collective.input_parts = parts_along(whole, dim, group.size());
  collective.output_parts = one_part_like(collective.input_parts);
  communicate(call, group, {collective});
}

}  // namespace tessera
