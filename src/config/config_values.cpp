// SPDX-License-Identifier: Apache-2.0
#include "config/config_values.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "files/safe_toml.h"
#include "files/toml_text.h"

namespace tessera {
namespace {

std::string place_of(const std::string& origin, const toml::source_region& source) {
  return fmt::format("{}:{}", origin, source.begin.line);
}

std::string text_of(const std::string& key, const toml::node& node, const std::string& place) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  const auto* list = node.as_array();
  const bool texts = list && (list->empty() || list->is_homogeneous(toml::node_type::string));
  if (!key.starts_with("plan.dims."))
    throw user_error("{} is a list or a date, want one number, text, true or false", key).at(place);
  if (!texts)
    throw user_error("{} is not a list of dims", key)
        .at(place)
        .help(R"(write ["kv_heads", "mlp"] or "kv_heads,mlp")");
  std::string joined;
  for (const toml::node& item : *list)
    joined += (joined.empty() ? "" : ",") + item.as_string()->get();
  return joined;
}

// In the order of the text; the table itself is sorted by name.
std::vector<std::pair<std::string, const toml::node*>> entries_of(const toml::table& table) {
  std::vector<std::pair<std::string, const toml::node*>> entries;
  for (const auto& [name, node] : table) entries.emplace_back(name.str(), &node);
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.second->source().begin < b.second->source().begin;
  });
  return entries;
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& origin,
             std::vector<ConfigValue>& values) {
  for (const auto& [name, entry] : entries_of(table)) {
    const toml::node& node = *entry;
    const std::string key = prefix + name;
    const std::string place = place_of(origin, node.source());
    if (const auto* inner = node.as_table())
      flatten(*inner, key + ".", origin, values);
    else
      values.push_back({key, text_of(key, node, place), place});
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
    return text_of("x", *toml::parse("x = " + text).get("x"), "") == text;
  } catch (const toml::parse_error&) {
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
  require_safe_toml(toml, origin);
  try {
    flatten(toml::parse(toml, origin), "", origin, values);
  } catch (const toml::parse_error& error) {
    throw user_error("{} is not TOML: {}", origin, error.description())
        .at(fmt::format("{}:{}:{}", origin, error.source().begin.line, error.source().begin.column))
        .help("write sections as [train] and values as steps = 100, texts in quotes");
  }
  return values;
}

ConfigValue value_from_override(const std::string& assignment) {
  const size_t equals = find_equals(assignment);
  if (equals == std::string::npos || equals == 0)
    throw user_error("cannot set {}: want key=value", assignment.empty() ? "nothing" : assignment)
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
