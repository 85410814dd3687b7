// SPDX-License-Identifier: Apache-2.0
#include "ops/testing/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/narrow_floats.h"

namespace tessera {
namespace {

constexpr std::byte kFresh{0xff};

bool all_are(std::byte value, std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [=](std::byte b) { return b == value; });
}

template <typename T>
T element(std::span<const std::byte> bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void put(std::span<std::byte> bytes, int64_t i, T value) {
  std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

GuardedBuffer::GuardedBuffer(int64_t bytes, Guard guard)
    : size_(static_cast<size_t>(bytes)),
      guard_(static_cast<std::byte>(guard)),
      lines_(2 * kGuardLines + (size_ + 63) / 64) {
  for (Line& line : lines_) line.fill(guard_);
  std::ranges::fill(this->bytes(), kFresh);
}

bool GuardedBuffer::guards_intact() const {
  const std::span all(lines_.front().data(), lines_.size() * sizeof(Line));
  const size_t first = kGuardLines * sizeof(Line);
  return all_are(guard_, all.first(first)) && all_are(guard_, all.subspan(first + size_));
}

double HostTensor::at(int64_t i) const {
  if (type_.dtype == DType::Int32) return element<int32_t>(bytes(), i);
  if (const auto fp8 = fp8_from_dtype(type_.dtype))
    return fp8_value(element<uint8_t>(bytes(), i), *fp8);
  return dispatch_float(type_.dtype,
                        [&]<typename T>() -> double { return load(element<T>(bytes(), i)); });
}

void HostTensor::set(int64_t i, double value) {
  if (type_.dtype == DType::Int32) return put(bytes(), i, static_cast<int32_t>(std::floor(value)));
  if (const auto fp8 = fp8_from_dtype(type_.dtype))
    return put(bytes(), i, fp8_bits(rounded_to_fp8(static_cast<float>(value), *fp8), *fp8));
  dispatch_float(type_.dtype, [&]<typename T>() {
    put(bytes(), i, store<T>(static_cast<Accumulator<T>>(value)));
  });
}

int64_t HostTensor::first_unwritten() const {
  const int64_t element_bytes = size_bytes(type_.dtype);
  for (int64_t i = 0; i < size(); ++i)
    if (all_are(kFresh, bytes().subspan(static_cast<size_t>(i * element_bytes),
                                        static_cast<size_t>(element_bytes))))
      return i;
  return -1;
}

bool HostTensor::same_bits(const HostTensor& other) const {
  return type_ == other.type_ && std::ranges::equal(bytes(), other.bytes());
}

HostTensor converted(const HostTensor& from, DType dtype, Guard guard) {
  HostTensor to(with_dtype(from.type(), dtype), guard);
  for (int64_t i = 0; i < from.size(); ++i) to.set(i, from.at(i));
  return to;
}

double relative_error(const HostTensor& a, const HostTensor& b) {
  double difference = 0, largest = std::numeric_limits<double>::min();
  for (int64_t i = 0; i < b.size(); ++i) {
    if (a.at(i) == b.at(i) && !std::isfinite(b.at(i))) continue;  // such as a row that sees nothing
    if (!std::isfinite(a.at(i)) || !std::isfinite(b.at(i)))
      return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(a.at(i) - b.at(i)));
    largest = std::max(largest, std::abs(b.at(i)));
  }
  return difference / largest;
}

}  // namespace tessera
