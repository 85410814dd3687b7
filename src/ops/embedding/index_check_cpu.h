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

}  // namespace tessera
