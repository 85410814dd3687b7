// SPDX-License-Identifier: Apache-2.0
#include "ir/attributes.h"

#include "core/error.h"

namespace tessera {

void Attributes::set(std::string name, Attribute value) {
  for (auto& [key, old] : entries_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  entries_.emplace_back(std::move(name), std::move(value));
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

int64_t Attributes::integer(std::string_view name) const {
  const Attribute* value = find(name);
  TESSERA_CHECK(value && std::holds_alternative<int64_t>(*value), "attribute {}", name);
  return std::get<int64_t>(*value);
}

double Attributes::real(std::string_view name) const {
  const Attribute* value = find(name);
  TESSERA_CHECK(value && std::holds_alternative<double>(*value), "attribute {}", name);
  return std::get<double>(*value);
}

const std::string& Attributes::word(std::string_view name) const {
  const Attribute* value = find(name);
  TESSERA_CHECK(value && std::holds_alternative<std::string>(*value), "attribute {}", name);
  return std::get<std::string>(*value);
}

std::string to_string(const Attribute& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  std::string text = fmt::format("{}", std::get<double>(value));
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // a real stays a real
  return text;
}

}  // namespace tessera
