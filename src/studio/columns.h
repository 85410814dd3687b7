// SPDX-License-Identifier: Apache-2.0
// Columns of numbers beside an answer's JSON, little-endian, each from a multiple of its numbers'
// size on: f32, u16 or u32. The JSON lists their names, types, counts and offsets.
#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "files/json.h"

namespace tessera {

static_assert(std::endian::native == std::endian::little);

struct Columns {
  Json list = Json::array();
  std::string bytes = {};

  template <typename T>
  void add(std::string_view name, std::string_view type, const std::vector<T>& values) {
    bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const size_t offset = bytes.size();
    list.push_back({{"name", name}, {"type", type}, {"count", values.size()}, {"offset", offset}});
    bytes.resize(offset + values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(&bytes[offset], values.data(), values.size() * sizeof(T));
  }
  void add(std::string_view name, const std::vector<float>& values) { add(name, "f32", values); }
  // As u16 where all fit, else as u32.
  void add(std::string_view name, const std::vector<uint32_t>& values) {
    std::vector<uint16_t> narrow;
    for (const uint32_t value : values)
      if (value > 0xffff) return add(name, "u32", values);
    narrow.assign(values.begin(), values.end());
    add(name, "u16", narrow);
  }
};

}  // namespace tessera
