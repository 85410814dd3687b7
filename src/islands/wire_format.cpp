// SPDX-License-Identifier: Apache-2.0
#include "islands/wire_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace tessera {
namespace {

constexpr auto kScaleBytes = static_cast<int64_t>(sizeof(float));
constexpr double kMost = 1e30;  // so that a mean, and its scale, are finite

// Signed integers, from -largest to largest: the range is symmetric.
struct Integers {
  int bits;
  double largest() const { return (1 << (bits - 1)) - 1; }
  int64_t bytes(int64_t count) const { return (count * bits + 7) / 8; }
};

Integers integers_of(IslandWire wire) { return {wire == IslandWire::Int8 ? 8 : 4}; }

void put_integer(Integers integers, std::byte* bytes, size_t i, double value) {
  const auto whole = static_cast<std::byte>(static_cast<int8_t>(value));
  if (integers.bits == 8)
    bytes[i] = whole;
  else
    bytes[i / 2] |= i % 2 == 0 ? whole & std::byte{15} : whole << 4;
}

double integer_at(Integers integers, const std::byte* bytes, size_t i) {
  if (integers.bits == 8) return static_cast<int8_t>(bytes[i]);
  const std::byte high = i % 2 == 0 ? bytes[i / 2] << 4 : bytes[i / 2] & std::byte{0xF0};
  const int sixteenths = static_cast<int8_t>(high);
  return sixteenths / 16.0;
}

void encode_block(Integers integers, std::span<const double> values, std::byte* to) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  const auto scale = static_cast<float>(most / integers.largest());
  std::memcpy(to, &scale, sizeof(scale));
  for (size_t i = 0; i < values.size(); ++i) {
    // The scale was rounded, so the largest value may be a little more than `largest` of it.
    const double steps = scale > 0 ? std::nearbyint(values[i] / static_cast<double>(scale)) : 0;
    put_integer(integers, to + sizeof(scale), i,
                std::clamp(steps, -integers.largest(), integers.largest()));
  }
}

void decode_block(Integers integers, const std::byte* from, std::span<double> values) {
  float scale = 0;
  std::memcpy(&scale, from, sizeof(scale));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(scale) * integer_at(integers, from + sizeof(scale), i);
}

// Calls f(first value, values, first byte) for each block.
template <typename F>
void for_each_block(Integers integers, int64_t elements, F&& f) {
  int64_t byte = 0;
  for (int64_t first = 0; first < elements; first += WireFormat::kBlock) {
    const int64_t count = std::min(WireFormat::kBlock, elements - first);
    f(static_cast<size_t>(first), static_cast<size_t>(count), static_cast<size_t>(byte));
    byte += kScaleBytes + integers.bytes(count);
  }
}

}  // namespace

int64_t WireFormat::bytes(int64_t elements) const {
  if (wire == IslandWire::Exact) return elements * size_bytes(dtype);
  const int64_t blocks = (elements + kBlock - 1) / kBlock;
  return integers_of(wire).bytes(elements) + blocks * kScaleBytes;
}

std::vector<std::byte> WireFormat::encode(std::span<const double> values) const {
  for (const double value : values) TESSERA_CHECK(std::isfinite(value), "{}", value);
  std::vector<std::byte> encoded(static_cast<size_t>(bytes(static_cast<int64_t>(values.size()))));
  if (wire != IslandWire::Exact) {
    const Integers integers = integers_of(wire);
    for_each_block(integers, static_cast<int64_t>(values.size()),
                   [&](size_t first, size_t count, size_t byte) {
                     encode_block(integers, values.subspan(first, count), &encoded[byte]);
                   });
    return encoded;
  }
  dispatch_float(dtype, [&]<typename T>() {
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = store<T>(static_cast<Accumulator<T>>(values[i]));
      std::memcpy(&encoded[i * sizeof(T)], &value, sizeof(T));
    }
  });
  return encoded;
}

void WireFormat::decode(std::span<const std::byte> from, std::span<double> values) const {
  const auto elements = static_cast<int64_t>(values.size());
  if (static_cast<int64_t>(from.size()) != bytes(elements))
    throw user_error("a change of {} values takes {} bytes as {}, but {} came", elements,
                     bytes(elements), name(wire), from.size())
        .help("all islands need the same model and the same [islands] section");
  if (wire != IslandWire::Exact) {
    const Integers integers = integers_of(wire);
    for_each_block(integers, elements, [&](size_t first, size_t count, size_t byte) {
      decode_block(integers, &from[byte], values.subspan(first, count));
    });
  } else {
    dispatch_float(dtype, [&]<typename T>() {
      for (size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, &from[i * sizeof(T)], sizeof(T));
        values[i] = static_cast<double>(load(value));
      }
    });
  }
  for (const double value : values)
    if (!(std::abs(value) <= kMost))
      throw user_error("a change that came from another island is not finite")
          .help("see the losses of that island");
}

}  // namespace tessera
