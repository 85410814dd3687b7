// SPDX-License-Identifier: Apache-2.0
// Indices into a table of `rows` rows, or into that shard of a larger one where `shard` is given.
#pragma once

#include "exec/cuda/kernel_launch.h"

namespace tessera {

struct DeviceTableIndex {
  const int32_t* index;
  const int32_t* shard;  // null: the table is not sharded
  int64_t rows;

  DeviceTableIndex(const TensorRef& indices, const TensorRef& which, int64_t table_rows)
      : index(indices.as<int32_t>()),
        shard(which ? which.as<int32_t>() : nullptr),
        rows(table_rows) {}

  // -1 for a row of another shard.
  __device__ int64_t row(int64_t i) const {
    const int64_t at = index[i] - (shard ? *shard * rows : 0);
    return at >= 0 && at < rows ? at : -1;
  }
  __device__ bool outside(int64_t i) const { return !shard && row(i) < 0; }
};

// The result of a lookup outside the table: a GPU cannot stop a step, so the loss becomes NaN.
template <typename T>
__device__ T not_a_number() {
  if constexpr (std::is_same_v<T, Bf16>)
    return Bf16{0x7fc0};
  else
    return static_cast<T>(__int_as_float(0x7fc00000));
}

}  // namespace tessera
