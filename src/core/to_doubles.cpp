// SPDX-License-Identifier: Apache-2.0
#include "core/to_doubles.h"

namespace tessera {

std::vector<double> to_doubles(const TensorType& type, std::span<const std::byte> bytes) {
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* from = reinterpret_cast<const T*>(bytes.data());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(load(from[i]));
  });
  return values;
}

}  // namespace tessera
