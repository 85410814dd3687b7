// SPDX-License-Identifier: Apache-2.0
// One copy per sequence.
#include <cstring>

#include "ops/embedding/index_check_cpu.h"

namespace tessera {

void take_position_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0), out = call.result(0);
  const int64_t sequences = call.operand(1).type->num_elements();
  const int64_t positions = x.type->dims[call.operand(1).type->dims.size()].size;
  const int64_t row_bytes = out.type->bytes() / sequences;
  const int32_t* index = checked_index(call.operand(1), positions);
  for (int64_t i = 0; i < sequences; ++i)
    std::memcpy(out.data + i * row_bytes, x.data + (i * positions + index[i]) * row_bytes,
                static_cast<size_t>(row_bytes));
}

}  // namespace tessera
