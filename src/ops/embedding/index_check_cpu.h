// SPDX-License-Identifier: Apache-2.0
// Guards lookups against memory outside the table. Called before the threads start, because a
// kernel's threads cannot throw.
#pragma once

#include "exec/cpu/cpu_call.h"

namespace tessera {

inline const int32_t* checked_index(const TensorRef& index, int64_t rows) {
  const int32_t* data = index.as<int32_t>();
  const int64_t count = index.type->num_elements();
  for (int64_t i = 0; i < count; ++i)
    TESSERA_CHECK(data[i] >= 0 && data[i] < rows, "index {} at {} of {} rows", data[i], i, rows);
  return data;
}

// Indices into a table of `rows` rows, or into that shard of a larger one where `shard` is given.
class TableIndex {
 public:
  TableIndex(const TensorRef& index, const TensorRef& shard, int64_t rows) : rows_(rows) {
    constexpr int64_t kAnyRow = int64_t{1} << 31;  // how large the whole is, a shard cannot know
    data_ = checked_index(index, shard ? kAnyRow : rows);
    if (!shard) return;
    TESSERA_CHECK(*shard.as<int32_t>() >= 0, "shard {}", *shard.as<int32_t>());
    first_ = *shard.as<int32_t>() * rows;
  }
  // -1 for a row of another shard.
  int64_t row(int64_t i) const {
    const int64_t row = data_[i] - first_;
    return row >= 0 && row < rows_ ? row : -1;
  }

 private:
  const int32_t* data_;
  int64_t rows_, first_ = 0;
};

}  // namespace tessera
