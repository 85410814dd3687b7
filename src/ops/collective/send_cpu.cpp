// SPDX-License-Identifier: Apache-2.0
// To this rank itself nothing travels: where the message lies is noted.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void send_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator* channel = channel_of(call);
  if (!channel) return call.in_flight->leave(call.channel, call.operand(0).data);
  Collective send = collective_of(call, CollectiveKind::Send);
  send.input_parts = send.output_parts = contiguous_parts(call.operand(0).type->num_elements());
  send.output = nullptr;
  send.root = 1 - channel->rank();
  communicate(call, *channel, {send});
}

}  // namespace tessera
