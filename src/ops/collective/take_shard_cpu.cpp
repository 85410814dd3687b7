// SPDX-License-Identifier: Apache-2.0
// One copy per row outside the dim.
#include <cstring>

#include "exec/cpu/cpu_call.h"
#include "exec/tensor_parts.h"

namespace tessera {

void take_shard_cpu(const CpuCall& call) {
  const TensorType& whole = *call.operand(0).type;
  const int64_t ranks = call.attributes.integer("ranks"), index = *call.operand(1).as<int32_t>();
  TESSERA_CHECK(index >= 0 && index < ranks, "share {} of {}", index, ranks);
  const auto dim = static_cast<size_t>(whole.index_of(call.attributes.word("dim")));
  const Parts parts = parts_along(whole, dim, ranks);
  const int64_t element = size_bytes(whole.dtype), row = parts.inner * element;
  call.threads.run(parts.outer, [&](int64_t o, int) {
    std::memcpy(
        call.result(0).data + o * row,
        call.operand(0).data + (o * parts.outer_stride + index * parts.part_stride) * element,
        static_cast<size_t>(row));
  });
}

}  // namespace tessera
