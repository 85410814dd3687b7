// SPDX-License-Identifier: Apache-2.0
// A node's compile-time settings: a few named numbers and words, in the order given.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

using Attribute = std::variant<int64_t, double, std::string>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> entries)
      : entries_(entries) {}

  void set(std::string name, Attribute value);
  const Attribute* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // The verifier has checked names and types against the op's signature, so these never miss at run
  // time.
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& word(std::string_view name) const;

  const std::vector<std::pair<std::string, Attribute>>& entries() const { return entries_; }
  bool operator==(const Attributes&) const = default;

 private:
  std::vector<std::pair<std::string, Attribute>> entries_;
};

std::string to_string(
    const Attribute& value);  // prints so that it parses back to the same value and type

}  // namespace tessera
