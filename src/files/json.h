// SPDX-License-Identifier: Apache-2.0
// A JSON value, made here to be written or read from text that others may have written. Members
// of an object keep their order. json.cpp alone includes the library that reads and prints,
// because each file that does compiles the whole of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

struct JsonMember;

class Json {
 public:
  Json();                // null
  Json(std::nullptr_t);  // as well
  Json(bool value);
  Json(double value);
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(std::initializer_list<JsonMember> members);  // {{"step", 3}, {"loss", 2.5}}
  template <std::integral T>
  Json(T value);
  template <typename T>
  Json(const std::optional<T>& value);  // null where there is none
  template <typename T>
  Json(const std::vector<T>& items);
  template <typename T>
  Json(const std::map<std::string, T>& members);

  static Json array();  // empty
  static Json array(std::vector<Json> items);
  static Json object();
  static Json object(std::vector<JsonMember> members);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  Json& operator[](std::string_view name);  // made where missing; null becomes an object
  void push_back(Json item);                // null becomes an array

  bool is_null() const;
  bool is_array() const;
  bool is_object() const;

  // Nothing where it is of another kind.
  const std::string* text() const;
  std::optional<bool> flag() const;
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;         // whole ones, too
  std::span<const Json> items() const;          // of an array
  std::span<const JsonMember> members() const;  // of an object
  const Json* find(std::string_view name) const;

  bool operator==(const Json& other) const;  // 1 and 1.0 are equal

  // On one line, or indented by `indent` spaces per level. NaN and infinity become null, bytes that
  // are not UTF-8 become U+FFFD.
  std::string dump(int indent = -1) const;

 private:
  void print(std::string& out, int indent, int level) const;

  // The unsigned ones are those that are too large for the signed.
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, std::vector<Json>,
               std::vector<JsonMember>>
      value_;
};

struct JsonMember {
  std::string name;
  Json value;

  bool operator==(const JsonMember&) const = default;
};

// The members of every object by name.
Json sorted(Json json);

// What is wrong with the text ("is nested more than 3 deep", "names x twice"); empty where nothing
// is, and `json` holds it. The text's own size bounds the memory that reading takes.
std::string parse_json(std::string_view text, int max_depth, Json& json);
// For files of our own; null where something is wrong.
Json parse_json(std::string_view text);

template <std::integral T>
Json::Json(T value) : value_(nullptr) {
  if (std::in_range<int64_t>(value))
    value_ = static_cast<int64_t>(value);
  else
    value_ = static_cast<uint64_t>(value);
}

template <typename T>
Json::Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}

template <typename T>
Json::Json(const std::vector<T>& items) : Json(array({items.begin(), items.end()})) {}

template <typename T>
Json::Json(const std::map<std::string, T>& members) : Json(object()) {
  std::vector<JsonMember>& all = *std::get_if<std::vector<JsonMember>>(&value_);
  for (const auto& [name, value] : members) all.push_back({name, value});
}

}  // namespace tessera
