// SPDX-License-Identifier: Apache-2.0
// Every rank writes each peer's share where it belongs.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void all_gather_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator& group = group_of(call);
  Collective collective = collective_of(call, CollectiveKind::AllGather);
  const TensorType& whole = *call.result(0).type;
  const auto dim = static_cast<size_t>(whole.index_of(call.attributes.word("dim")));
  collective.output_parts = parts_along(whole, dim, group.size());
  collective.input_parts = one_part_like(collective.output_parts);
  communicate(call, group, {collective});
}

}  // namespace tessera
