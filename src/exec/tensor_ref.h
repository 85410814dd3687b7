// SPDX-License-Identifier: Apache-2.0
// A tensor where it lies, on any device.
#pragma once

#include <cstddef>

#include "core/error.h"
#include "core/tensor_type.h"

namespace tessera {

struct TensorRef {
  const TensorType* type = nullptr;  // null: an optional operand that is absent
  std::byte* data = nullptr;

  template <typename T>
  T* as() const {
    TESSERA_CHECK(type && type->dtype == dtype_of<T>());
    return reinterpret_cast<T*>(data);
  }
  explicit operator bool() const { return type != nullptr; }
};

}  // namespace tessera
