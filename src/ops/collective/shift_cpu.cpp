// SPDX-License-Identifier: Apache-2.0
// A receive and a send in flight together.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void shift_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator& group = group_of(call);
  Collective send = collective_of(call, CollectiveKind::Send);
  send.input_parts = send.output_parts = contiguous_parts(call.operand(0).type->num_elements());
  Collective receive = send;
  receive.kind = CollectiveKind::Recv;
  send.root = (group.rank() + 1) % group.size();
  receive.root = (group.rank() + group.size() - 1) % group.size();
  send.output = nullptr;
  receive.input = nullptr;
  communicate(call, group, {receive, send});
}

}  // namespace tessera
