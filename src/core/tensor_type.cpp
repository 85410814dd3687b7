// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_type.h"

#include <algorithm>

namespace tessera {

int64_t num_elements(const Dims& dims) {
  int64_t count = 1;
  for (const Dim& dim : dims) count *= dim.size;
  return count;
}

int64_t TensorType::num_elements() const { return tessera::num_elements(dims); }

int TensorType::index_of(std::string_view dim) const {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == dim) return static_cast<int>(i);
  return -1;
}

int64_t TensorType::size_of(std::string_view dim) const {
  const int i = index_of(dim);
  TESSERA_CHECK(i >= 0, "no dim {} in {}", dim, to_string(*this));
  return dims[static_cast<size_t>(i)].size;
}

TensorType scalar(DType dtype) { return {dtype, {}}; }

TensorType with_dtype(TensorType type, DType dtype) {
  type.dtype = dtype;
  return type;
}

bool ends_with(const Dims& dims, const Dims& tail) {
  return dims.size() >= tail.size() && std::equal(tail.rbegin(), tail.rend(), dims.rbegin());
}

bool begins_with(const Dims& dims, const Dims& head) {
  return dims.size() >= head.size() && std::equal(head.begin(), head.end(), dims.begin());
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (const Dim& dim : dims)
    text += fmt::format("{}{}={}", text.size() > 1 ? ", " : "", dim.name, dim.size);
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(name(type.dtype)) + to_string(type.dims);
}

}  // namespace tessera
