// SPDX-License-Identifier: Apache-2.0
#include "comm/testing/sample_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera {
namespace {

// T as stored, A as combined.
template <typename T, typename A>
uint64_t reduced_bits(Reduction reduction, int ranks, int64_t element, A (*widen)(T),
                      T (*narrow)(A), T (*sample)(int, int64_t)) {
  A total = widen(sample(0, element));
  for (int rank = 1; rank < ranks; ++rank) {
    const A value = widen(sample(rank, element));
    if (reduction == Reduction::Min)
      total = std::min(total, value);
    else if (reduction == Reduction::Max)
      total = std::max(total, value);
    else
      total = total + value;
  }
  if (reduction == Reduction::Mean) total = total / static_cast<A>(ranks);
  const T result = narrow(total);
  uint64_t bits = 0;
  std::memcpy(&bits, &result, sizeof(T));
  return bits;
}

template <typename T>
T plain_sample(int rank, int64_t element) {
  return static_cast<T>(sample_value(rank, element));
}
template <typename T>
T unchanged(T x) {
  return x;
}
Bf16 bf16_sample(int rank, int64_t element) {
  return to_bf16(static_cast<float>(sample_value(rank, element)));
}

}  // namespace

// Sums of these depend on their order in every float dtype.
double sample_value(int rank, int64_t element) {
  const uint64_t mixed =
      (static_cast<uint64_t>(element) * 31 + static_cast<uint64_t>(rank) * 7919 + 12345) *
      2654435761u % 1000003u;
  const double scale = rank % 3 == 0 ? 1.0 : 1024.37;
  return (static_cast<double>(mixed) / 1000.0 - 500.0) * scale;
}

void put_value(DType dtype, std::byte* data, int64_t index, double value) {
  const auto write = [&](auto typed) {
    std::memcpy(data + index * static_cast<int64_t>(sizeof(typed)), &typed, sizeof(typed));
  };
  switch (dtype) {
    case DType::Fp64:
      return write(value);
    case DType::Fp32:
      return write(static_cast<float>(value));
    case DType::Bf16:
      return write(to_bf16(static_cast<float>(value)));
    case DType::Int32:
      return write(static_cast<int32_t>(value));
    case DType::E4m3:
    case DType::E5m2:
      check_failed("no sample of bytes", __FILE__, __LINE__, std::string(name(dtype)));
  }
}

uint64_t bits_at(DType dtype, const std::byte* data, int64_t index) {
  uint64_t bits = 0;
  const int64_t bytes = size_bytes(dtype);
  std::memcpy(&bits, data + index * bytes, static_cast<size_t>(bytes));
  return bits;
}

uint64_t bits_of_sample(DType dtype, int rank, int64_t element) {
  std::byte bytes[8] = {};
  put_value(dtype, bytes, 0, sample_value(rank, element));
  return bits_at(dtype, bytes, 0);
}

uint64_t bits_of_reduction(DType dtype, Reduction reduction, int ranks, int64_t element) {
  switch (dtype) {
    case DType::Fp64:
      return reduced_bits<double, double>(reduction, ranks, element, unchanged, unchanged,
                                          plain_sample<double>);
    case DType::Fp32:
      return reduced_bits<float, float>(reduction, ranks, element, unchanged, unchanged,
                                        plain_sample<float>);
    case DType::Bf16:
      return reduced_bits<Bf16, float>(reduction, ranks, element, to_float, to_bf16, bf16_sample);
    case DType::Int32:
      return reduced_bits<int32_t, int32_t>(reduction, ranks, element, unchanged, unchanged,
                                            plain_sample<int32_t>);
    case DType::E4m3:
    case DType::E5m2:
      break;
  }
  return 0;
}

}  // namespace tessera
