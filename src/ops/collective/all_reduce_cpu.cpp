// SPDX-License-Identifier: Apache-2.0
// Sums in rank order.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void all_reduce_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Collective collective = collective_of(call, CollectiveKind::AllReduce);
  if (call.attributes.word("reduction") == "max") collective.reduction = Reduction::Max;
  collective.input_parts = collective.output_parts =
      contiguous_parts(call.operand(0).type->num_elements());
  communicate(call, group_of(call), {collective});
}

}  // namespace tessera
