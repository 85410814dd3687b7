// SPDX-License-Identifier: Apache-2.0
#include "core/convert_elements.h"

#include <cstring>

namespace tessera {

void convert_elements(DType from_dtype, std::span<const std::byte> from, DType to_dtype,
                      std::span<std::byte> to) {
  if (from_dtype == to_dtype) {
    std::memcpy(to.data(), from.data(), to.size());
    return;
  }
  dispatch_float(from_dtype, [&]<typename From>() {
    dispatch_float(to_dtype, [&]<typename To>() {
      for (size_t i = 0; i < to.size() / sizeof(To); ++i) {
        From value;
        std::memcpy(&value, from.data() + i * sizeof(From), sizeof value);
        const To converted = store<To>(static_cast<Accumulator<To>>(load(value)));
        std::memcpy(to.data() + i * sizeof(To), &converted, sizeof converted);
      }
    });
  });
}

std::vector<double> to_doubles(const TensorType& type, std::span<const std::byte> bytes) {
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* from = reinterpret_cast<const T*>(bytes.data());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(load(from[i]));
  });
  return values;
}

}  // namespace tessera
