// SPDX-License-Identifier: Apache-2.0
// By token, so that each is read once. No two choices have the same place.
#include <cstring>

#include "exec/cpu/cpu_call.h"
#include "ops/moe/pool.h"
#include "ops/row_ranges.h"

namespace tessera {

void dispatch_cpu(const CpuCall& call) {
  const TensorRef place = call.operand(2), gates = call.operand(4);
  const int64_t top_k = place.type->dims.back().size, tokens = place.type->num_elements() / top_k,
                row_bytes = call.operand(0).type->bytes() / tokens;
  const int32_t* places = place.as<int32_t>();
  const std::byte* x = call.operand(0).data;
  std::byte* rows = call.result(0).data;
  const int64_t gate_bytes = gates ? size_bytes(gates.type->dtype) : 0;
  std::byte* gate_rows = gates ? call.result(1).data : nullptr;
  run_rows(call.threads, tokens, top_k * row_bytes / 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * top_k; i < end * top_k; ++i) {
      const int64_t row = places[i];
      if (row < 0) continue;
      std::memcpy(rows + row * row_bytes, x + i / top_k * row_bytes,
                  static_cast<size_t>(row_bytes));
      if (gates)
        std::memcpy(gate_rows + row * gate_bytes, gates.data + i * gate_bytes,
                    static_cast<size_t>(gate_bytes));
    }
  });
}

}  // namespace tessera
