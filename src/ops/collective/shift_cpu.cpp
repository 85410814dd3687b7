// SPDX-License-Identifier: Apache-2.0
// A send and a receive in flight together.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void shift_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator& group = group_of(call);
  Collective send = collective_of(call, CollectiveKind::Send);
  send.input_parts = send.output_parts = whole_as_one_part(*call.operand(0).type);
  Collective receive = send;
  receive.kind = CollectiveKind::Recv;
  send.root = (group.rank() + 1) % group.size();
  receive.root = (group.rank() + group.size() - 1) % group.size();
  send.output = nullptr;
  receive.input = nullptr;
  const Ticket sent = group.start(send), received = group.start(receive);
  group.wait(received);
  group.wait(sent);
}

}  // namespace tessera
