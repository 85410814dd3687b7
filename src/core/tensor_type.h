// SPDX-License-Identifier: Apache-2.0
// The type of a value: a dtype and named, sized dims, outermost first. Names are unique within a
// type. There is no reshape: a dim keeps its name and size from model to kernel, so that a
// placement can follow it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace tessera {

struct Dim {
  std::string name;
  int64_t size = 0;
  bool operator==(const Dim&) const = default;
};

using Dims = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::Fp32;
  Dims dims;

  int64_t num_elements() const;
  int64_t bytes() const { return num_elements() * size_bytes(dtype); }
  bool has(std::string_view dim) const { return index_of(dim) >= 0; }
  int index_of(std::string_view dim) const;     // -1 when absent
  int64_t size_of(std::string_view dim) const;  // the dim must exist
  bool operator==(const TensorType&) const = default;
};

int64_t num_elements(const Dims& dims);
TensorType scalar(DType dtype);
TensorType with_dtype(TensorType type, DType dtype);

// True when `tail` equals the innermost dims of `dims`; `begins_with` the same for the outermost
// ones.
bool ends_with(const Dims& dims, const Dims& tail);
bool begins_with(const Dims& dims, const Dims& head);

std::string to_string(const Dims& dims);        // "[batch=4, seq=64]"
std::string to_string(const TensorType& type);  // "fp32[batch=4, seq=64]"

}  // namespace tessera
