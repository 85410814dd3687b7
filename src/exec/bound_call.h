// SPDX-License-Identifier: Apache-2.0
// The tensors of one call of an instruction, bound to addresses, on any device. Each device adds
// what else its kernels need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

struct BoundCall {
  std::span<const TensorRef> operands, results;
  uint64_t accumulate = 0;  // bit i: add into result i instead of writing it
  std::span<std::byte> workspace = {};

  bool accumulates(size_t i) const { return (accumulate >> i) & 1u; }
  // Operand i, or an absent one where fewer were given.
  TensorRef operand(size_t i) const { return i < operands.size() ? operands[i] : TensorRef{}; }
  TensorRef result(size_t i) const { return i < results.size() ? results[i] : TensorRef{}; }
};

}  // namespace tessera
