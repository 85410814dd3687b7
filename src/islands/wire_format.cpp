// SPDX-License-Identifier: Apache-2.0
#include "islands/wire_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace tessera {
namespace {

constexpr auto kScaleBytes = static_cast<int64_t>(sizeof(float));
constexpr double kMost = 1e30;    // so that a mean, and its scale, are finite
constexpr double kLargest = 127;  // -128 is not used: the range is symmetric

void encode_block(std::span<const double> values, std::byte* to) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  const auto scale = static_cast<float>(most / kLargest);
  std::memcpy(to, &scale, sizeof(scale));
  to += sizeof(scale);
  for (const double value : values) {
    // The scale was rounded, so the largest value may be a little over 127 of it.
    const double steps = scale > 0 ? std::nearbyint(value / static_cast<double>(scale)) : 0;
    *to++ = static_cast<std::byte>(static_cast<int8_t>(std::clamp(steps, -kLargest, kLargest)));
  }
}

void decode_block(const std::byte* from, std::span<double> values) {
  float scale = 0;
  std::memcpy(&scale, from, sizeof(scale));
  from += sizeof(scale);
  for (double& value : values)
    value = static_cast<double>(scale) * static_cast<double>(static_cast<int8_t>(*from++));
}

// Calls f(first value, values, first byte) for each block.
template <typename F>
void for_each_block(int64_t elements, F&& f) {
  int64_t byte = 0;
  for (int64_t first = 0; first < elements; first += WireFormat::kBlock) {
    const int64_t count = std::min(WireFormat::kBlock, elements - first);
    f(static_cast<size_t>(first), static_cast<size_t>(count), static_cast<size_t>(byte));
    byte += kScaleBytes + count;
  }
}

}  // namespace

int64_t WireFormat::bytes(int64_t elements) const {
  if (wire == IslandWire::Exact) return elements * size_bytes(dtype);
  return elements + (elements + kBlock - 1) / kBlock * kScaleBytes;
}

std::vector<std::byte> WireFormat::encode(std::span<const double> values) const {
  for (const double value : values) TESSERA_CHECK(std::isfinite(value), "{}", value);
  std::vector<std::byte> encoded(static_cast<size_t>(bytes(static_cast<int64_t>(values.size()))));
  if (wire == IslandWire::Int8) {
    for_each_block(static_cast<int64_t>(values.size()),
                   [&](size_t first, size_t count, size_t byte) {
                     encode_block(values.subspan(first, count), &encoded[byte]);
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
  if (wire == IslandWire::Int8)
    for_each_block(elements, [&](size_t first, size_t count, size_t byte) {
      decode_block(&from[byte], values.subspan(first, count));
    });
  else
    dispatch_float(dtype, [&]<typename T>() {
      for (size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, &from[i * sizeof(T)], sizeof(T));
        values[i] = static_cast<double>(load(value));
      }
    });
  for (const double value : values)
    if (!(std::abs(value) <= kMost))
      throw user_error("a change that came from another island is not finite")
          .help("see the losses of that island");
}

}  // namespace tessera
