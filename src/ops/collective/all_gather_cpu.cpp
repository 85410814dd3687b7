// SPDX-License-Identifier: Apache-2.0
// Every rank writes each peer's share where it belongs.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void all_gather_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Collective collective = collective_of(call, CollectiveKind::AllGather);
  collective.output_parts = parts_along_dim(call, *call.result(0).type);
  collective.input_parts = one_part_like(collective.output_parts);
  communicate(call, group_of(call), {collective});
}

}  // namespace tessera
