// SPDX-License-Identifier: Apache-2.0
#include "config/config_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "files/toml_document.h"

namespace tessera {
namespace {

using Kind = TomlValue::Kind;

constexpr const char* kHelp =
    "write sections as [train] and values as steps = 100, texts in quotes";

std::string text_of(const std::string& key, const TomlValue& value, const std::string& place) {
  if (value.kind == Kind::Text) return value.text;
  if (value.kind == Kind::Integer) return fmt::format("{}", value.integer);
  if (value.kind == Kind::Number) return fmt::format("{}", value.number);
  if (value.kind == Kind::Flag) return value.flag ? "true" : "false";
  if (!key.starts_with("plan.dims."))
    throw user_error("{} is a list or a date, but must be one number, text, true or false", key)
        .at(place);
  std::string joined;
  for (const TomlValue& item : value.items) joined += (joined.empty() ? "" : ",") + item.text;
  const bool texts = std::ranges::all_of(
      value.items, [](const TomlValue& item) { return item.kind == Kind::Text; });
  if (value.kind != Kind::List || !texts)
    throw user_error("{} is not a list of dims", key)
        .at(place)
        .help(R"(write ["kv_heads", "mlp"] or "kv_heads,mlp")");
  return joined;
}

void flatten(const TomlValue& table, const std::string& prefix, const std::string& origin,
             std::vector<ConfigValue>& values) {
  for (const auto& [name, value] : table.entries) {
    const std::string key = prefix + name;
    const std::string place = fmt::format("{}:{}", origin, value.line);
    if (value.kind == Kind::Table)
      flatten(value, key + ".", origin, values);
    else
      values.push_back({key, text_of(key, value, place), place});
  }
}

// A number or a boolean that TOML reads back to the same text. It does not where a zero leads or a
// point lacks digits, and gives "-0", "1e5" and "1.50" back in other words.
bool is_plain_value(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  const bool is_number = result.ec == std::errc{} && result.ptr == end && std::isfinite(number);
  if (!is_number && text != "true" && text != "false") return false;
  try {
    return text_of("x", parse_toml("x = " + text, "x", "").entries.front().second, "") == text;
  } catch (const UserError&) {
    return false;
  }
}

bool opens_quote(std::string_view text) { return text.starts_with('"') || text.starts_with('\''); }

// Quotes that a shell did not take off: as in TOML.
std::string without_quotes(const std::string& text, const std::string& place) {
  if (text.size() < 2 || !opens_quote(text) || text.front() != text.back()) return text;
  try {
    const std::vector<ConfigValue> read = values_from_toml("x = " + text, place);
    if (read.size() == 1) return read.front().text;
  } catch (const UserError&) {
  }
  throw user_error("cannot read {} as a text in quotes", text)
      .at(place)
      .help("leave the quotes out, or write a quote inside as \\\"");
}

// The one that ends the key, which may have its last part in quotes: data.mixture."a=b.bin"=2.
size_t find_equals(const std::string& assignment) {
  const size_t quote = assignment.find_first_of("\"'=");
  if (quote == std::string::npos || quote == 0 || assignment[quote] == '=' ||
      assignment[quote - 1] != '.')
    return assignment.find('=');
  const size_t end = assignment.find(std::string{assignment[quote], '='}, quote + 1);
  return end == std::string::npos ? assignment.find('=') : end + 1;
}

}  // namespace

std::vector<ConfigValue> values_from_toml(std::string_view toml, const std::string& origin) {
  std::vector<ConfigValue> values;
  flatten(parse_toml(toml, origin, kHelp), "", origin, values);
  return values;
}

ConfigValue value_from_override(const std::string& assignment) {
  const size_t equals = find_equals(assignment);
  if (equals == std::string::npos || equals == 0)
    throw user_error("cannot set {}: write key=value", assignment.empty() ? "nothing" : assignment)
        .at("--set " + assignment)
        .help("for example --set train.steps=100");
  const std::string place = "--set " + assignment;
  std::string key = assignment.substr(0, equals);
  if (const size_t part = key.find_first_of("\"'"); part != std::string::npos && part > 0)
    key = key.substr(0, part) + without_quotes(key.substr(part), place);
  return {key, without_quotes(assignment.substr(equals + 1), place), place};
}

std::string toml_value(const std::string& text) {
  return is_plain_value(text) ? text : toml_string(text);
}

}  // namespace tessera
