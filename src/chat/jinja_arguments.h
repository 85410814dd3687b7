// SPDX-License-Identifier: Apache-2.0
// The arguments of a call, filter or test, and what is taken from them; a UserError where one is
// of another type, or unknown.
#pragma once

#include <ctime>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja_budget.h"
#include "chat/jinja_value.h"

namespace tessera {

struct JinjaArguments {
  std::string of;  // what is called, for messages
  std::vector<JinjaValue> values;
  std::vector<JinjaMember> named;

  // Number `index`, or the one with this name; null where it is not given.
  const JinjaValue* find(size_t index, std::string_view name) const;
  int64_t integer(size_t index, std::string_view name, std::optional<int64_t> otherwise) const;
  std::string text(size_t index, std::string_view name, std::optional<std::string> otherwise) const;
  bool flag(size_t index, std::string_view name, bool otherwise) const;
  // No more than these.
  void only(size_t count, std::initializer_list<std::string_view> names = {}) const;
};

// The items of what can be iterated: of a list, the names of a dict, the characters of a text.
std::vector<JinjaValue> items_of(const JinjaValue& value, JinjaBudget& budget);
// For all that is within a value, before something goes through it: it may hold a list many times.
void spend_on(const JinjaValue& value, JinjaBudget& budget);

// As Python's operators; `line` of messages is added by who evaluates.
JinjaValue jinja_binary(std::string_view operation, const JinjaValue& a, const JinjaValue& b,
                        JinjaBudget& budget);
bool jinja_compare(std::string_view operation, const JinjaValue& a, const JinjaValue& b,
                   JinjaBudget& budget);
JinjaValue jinja_slice(const JinjaValue& of, const JinjaValue& begin, const JinjaValue& end,
                       const JinjaValue& step, JinjaBudget& budget);
JinjaValue jinja_item(const JinjaValue& of, const JinjaValue& index, JinjaBudget& budget);

bool jinja_test(std::string_view name, const JinjaValue& value, const JinjaArguments& arguments,
                JinjaBudget& budget);
JinjaValue jinja_filter(std::string_view name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaBudget& budget);
// A method of a text or a dict; undefined where it has none of this name.
JinjaValue jinja_method(const JinjaValue& of, std::string_view name);
JinjaValue jinja_attribute(const JinjaValue& of, const std::string& name, JinjaBudget& budget);
bool is_jinja_global(std::string_view name);
JinjaValue call_global(std::string_view name, const JinjaArguments& arguments, const std::tm& now,
                       JinjaBudget& budget);
JinjaValue call_method(const JinjaFunction& method, const JinjaArguments& arguments,
                       JinjaBudget& budget);

}  // namespace tessera
