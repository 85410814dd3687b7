// SPDX-License-Identifier: Apache-2.0
// Tensors in plain memory, for tests: aligned as kernels expect, between guard bytes that detect a
// write outside. Fresh memory is all ones, a NaN in every float dtype.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "exec/cpu/cpu_call.h"

namespace tessera {

// Guards of operands are NaNs too, so that a read outside spoils results; those of results are not,
// because a NaN written there would go unnoticed.
enum class Guard : uint8_t { Operand = 0xff, Result = 0xa5 };

class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes = 0, Guard guard = Guard::Result);

  std::span<std::byte> bytes() { return {lines_[kGuardLines].data(), size_}; }
  std::span<const std::byte> bytes() const { return {lines_[kGuardLines].data(), size_}; }
  bool guards_intact() const;

 private:
  struct alignas(64) Line : std::array<std::byte, 64> {};
  static constexpr size_t kGuardLines = 4;
  size_t size_;
  std::byte guard_;
  std::vector<Line> lines_;
};

class HostTensor {
 public:
  HostTensor() = default;
  explicit HostTensor(TensorType type, Guard guard = Guard::Result)
      : type_(std::move(type)), buffer_(type_.bytes(), guard) {}

  const TensorType& type() const { return type_; }
  int64_t size() const { return type_.num_elements(); }
  std::span<std::byte> bytes() { return buffer_.bytes(); }
  std::span<const std::byte> bytes() const { return buffer_.bytes(); }
  bool guards_intact() const { return buffer_.guards_intact(); }
  TensorRef ref() { return {&type_, buffer_.bytes().data()}; }

  double at(int64_t i) const;
  void set(int64_t i, double value);  // rounds to the dtype
  int64_t first_unwritten() const;    // the first element that is still all ones; -1 for none
  bool same_bits(const HostTensor& other) const;

 private:
  TensorType type_;
  GuardedBuffer buffer_;
};

// The same values in another dtype.
HostTensor converted(const HostTensor& from, DType dtype, Guard guard = Guard::Result);

// max|a - b| / max|b|, infinite where a value is not finite.
double relative_error(const HostTensor& a, const HostTensor& b);

}  // namespace tessera
