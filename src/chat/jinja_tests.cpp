// SPDX-License-Identifier: Apache-2.0
// The tests after `is`.
#include "chat/jinja_arguments.h"
#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

int64_t whole_number(const JinjaValue& value, std::string_view test) {
  int64_t storage = 0;
  if (const int64_t* number = value.as_integer(storage)) return *number;
  throw user_error("{} needs a whole number, but has a {}", test, value.type_name())
      .help("test it with `is integer` first");
}

bool is_iterable(const JinjaValue& value) {
  return value.as_text() || value.as_list() || value.as_dict() || value.is_undefined();
}

std::string comparison_of(std::string_view test) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"eq", "=="}, {"equalto", "=="}, {"ne", "!="},         {"lt", "<"},  {"lessthan", "<"},
      {"le", "<="}, {"gt", ">"},       {"greaterthan", ">"}, {"ge", ">="}, {"in", "in"}};
  for (const auto& [name, operation] : kNames)
    if (name == test) return std::string(operation);
  return {};
}

}  // namespace

bool jinja_test(std::string_view name, const JinjaValue& value, const JinjaArguments& arguments,
                JinjaBudget& budget) {
  if (const std::string operation = comparison_of(name); !operation.empty()) {
    const JinjaValue* other = arguments.find(0, "other");
    return jinja_compare(operation, value, other ? *other : JinjaValue(), budget);
  }
  if (name == "divisibleby") {
    const int64_t by = arguments.integer(0, "num", {});
    return jinja_binary("%", JinjaValue(whole_number(value, name)), JinjaValue(by), budget) ==
           JinjaValue(int64_t{0});
  }
  if (name == "sameas") {
    const JinjaValue* other = arguments.find(0, "other");
    return other && value.type_name() == other->type_name() && value == *other;
  }
  arguments.only(0);
  int64_t storage = 0;
  const std::string* text = value.as_text();
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.is_none();
  if (name == "string") return text != nullptr;
  if (name == "mapping") return value.as_dict() != nullptr;
  if (name == "sequence" || name == "iterable") return is_iterable(value);
  if (name == "boolean") return value.get<bool>() != nullptr;
  if (name == "true") return value.get<bool>() && *value.get<bool>();
  if (name == "false") return value.get<bool>() && !*value.get<bool>();
  if (name == "integer") return value.get<int64_t>() != nullptr;
  if (name == "float") return value.get<double>() != nullptr;
  if (name == "number") return value.as_integer(storage) || value.get<double>();
  if (name == "callable") return value.get<JinjaValue::Function>() != nullptr;
  if (name == "odd") return whole_number(value, name) % 2 != 0;
  if (name == "even") return whole_number(value, name) % 2 == 0;
  if (name == "lower") {
    spend_on(value, budget);
    const std::string shown = to_text(value);
    return lower_text(shown) == shown && upper_text(shown) != shown;
  }
  if (name == "upper") {
    spend_on(value, budget);
    const std::string shown = to_text(value);
    return upper_text(shown) == shown && lower_text(shown) != shown;
  }
  throw user_error("the test {} is not supported", python_quoted(name))
      .help("see docs/chat.md for those that are");
}

}  // namespace tessera
