// SPDX-License-Identifier: Apache-2.0
// What a collective of the Program asks of its group's communicator: one request, two for a shift,
// with parts where a dim cuts a tensor.
#pragma once

#include <array>
#include <span>

#include "comm/communicator.h"
#include "exec/cpu/cpu_call.h"
#include "program/instruction.h"

namespace tessera {

class CollectiveRequest {
 public:
  static constexpr size_t kMost = 2;

  // `rank` is this one's in the group of `ranks`; `title` is for messages.
  CollectiveRequest(const CollectiveInstruction& instruction, int rank, int ranks,
                    std::span<const TensorRef> inputs, const TensorRef& output,
                    std::string_view title);

  std::span<const Collective> all() const { return {requests_.data(), count_}; }

 private:
  std::array<Collective, kMost> requests_;
  size_t count_ = 1;
};

Collective send_request(const TensorRef& buffer, int to, std::string_view title);
Collective receive_request(const TensorRef& buffer, int from, std::string_view title);

}  // namespace tessera
