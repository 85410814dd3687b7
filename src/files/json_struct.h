// SPDX-License-Identifier: Apache-2.0
// Structs as JSON objects, written and read by one list of their fields:
//   template <typename Visit>
//   void visit_fields(Wait& wait, const Visit& visit) { visit("rank", wait.rank); }
#pragma once

#include <type_traits>
#include <utility>

#include "files/json.h"

namespace tessera {

template <typename T>
concept HasFields = requires(T& value) {
  visit_fields(value, [](const char*, auto&) {});
};

template <typename T>
requires(!HasFields<T>) Json to_json(const T& value) { return value; }
template <HasFields T>
Json to_json(T value) {
  Json json = Json::object();
  visit_fields(value, [&](const char* name, auto& field) { json[name] = to_json(field); });
  return json;
}
template <HasFields T>
Json to_json(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(to_json(value));
  return json;
}

// False where it is of another kind. Fields that are missing keep their values.
template <typename T>
bool read_json(const Json& json, T& value) {
  const auto take = [&](const auto& found) {
    if (found) value = static_cast<T>(*found);
    return static_cast<bool>(found);
  };
  if constexpr (HasFields<T>) {
    bool fits = json.is_object();
    visit_fields(value, [&](const char* name, auto& field) {
      const Json* found = json.find(name);
      fits = fits && (!found || read_json(*found, field));
    });
    return fits;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return take(json.text());
  } else if constexpr (std::is_same_v<T, bool>) {
    return take(json.flag());
  } else if constexpr (std::is_integral_v<T>) {
    return take(json.integer());
  } else {
    return take(json.number());
  }
}
template <typename T>
bool read_json(const Json& json, std::vector<T>& values) {
  for (const Json& item : json.items()) {
    if (T value; read_json(item, value))
      values.push_back(std::move(value));
    else
      return false;
  }
  return json.is_array();
}

}  // namespace tessera
