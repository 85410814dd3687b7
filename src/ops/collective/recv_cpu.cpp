// SPDX-License-Identifier: Apache-2.0
// From this rank itself the message lies where it was left.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void recv_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator* channel = channel_of(call);
  if (!channel) {
    std::memcpy(call.result(0).data, call.in_flight->collect(call.channel),
                static_cast<size_t>(call.result(0).type->bytes()));
    return;
  }
  Collective receive = collective_of(call, CollectiveKind::Recv);
  receive.input_parts = receive.output_parts =
      contiguous_parts(call.operand(0).type->num_elements());
  receive.input = nullptr;
  receive.root = 1 - channel->rank();
  communicate(call, *channel, {receive});
}

}  // namespace tessera
