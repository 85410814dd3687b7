// SPDX-License-Identifier: Apache-2.0
// The filters after `|`.
#include <algorithm>
#include <cmath>

#include "chat/jinja_arguments.h"
#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

std::string text_of_any(const JinjaValue& value, JinjaBudget& budget) {
  spend_on(value, budget);
  return to_text(value);
}

JinjaValue length_of(const JinjaValue& value, JinjaBudget& budget) {
  if (const JinjaList* list = value.as_list()) return JinjaValue(std::ssize(list->items));
  if (const JinjaDict* dict = value.as_dict()) return JinjaValue(std::ssize(dict->members));
  if (const std::string* text = value.as_text()) {
    budget.spend(text->size() * sizeof(size_t));
    return JinjaValue(character_count(*text));
  }
  if (value.is_undefined()) return JinjaValue(int64_t{0});
  throw user_error("a {} has no length", value.type_name()).help("test it with `is none` first");
}

JinjaValue json_of(const JinjaValue& value, const JinjaArguments& arguments, JinjaBudget& budget) {
  arguments.only(1, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JinjaJsonStyle style;
  style.ascii = arguments.flag(0, "ensure_ascii", false);
  style.sorted = arguments.flag(1, "sort_keys", false);
  const JinjaValue* indent = arguments.find(1, "indent");
  if (indent && !indent->is_none()) {
    style.indent = static_cast<int>(std::clamp<int64_t>(arguments.integer(1, "indent", 0), 0, 16));
    style.between_items = ",";
  }
  const JinjaValue* separators = arguments.find(2, "separators");
  if (separators && separators->as_list()) {
    const std::vector<JinjaValue>& both = separators->as_list()->items;
    if (both.size() != 2 || !both[0].as_text() || !both[1].as_text())
      throw UserError("separators of tojson are two texts").help("separators=(',', ':')");
    style.between_items = *both[0].as_text();
    style.between_pair = *both[1].as_text();
  }
  constexpr size_t kLonger = 8;  // escapes, indentation
  for (size_t i = 0; i < kLonger; ++i) spend_on(value, budget);
  budget.spend(style.between_items.size() + style.between_pair.size());
  return JinjaValue::text(to_json_text(value, style));
}

JinjaValue joined(const JinjaValue& value, const JinjaArguments& arguments, JinjaBudget& budget) {
  const JinjaValue* given = arguments.find(0, "d");
  const std::string by = given ? text_of_any(*given, budget) : "";
  const JinjaValue* attribute = arguments.find(1, "attribute");
  std::string out;
  bool first = true;
  for (const JinjaValue& item : items_of(value, budget)) {
    if (!first) out += by;
    first = false;
    budget.spend(by.size());
    out += text_of_any(attribute ? jinja_item(item, *attribute, budget) : item, budget);
  }
  return JinjaValue::text(std::move(out));
}

// map, select, reject, selectattr, rejectattr.
JinjaValue of_each(std::string_view name, const JinjaValue& value, const JinjaArguments& arguments,
                   JinjaBudget& budget) {
  const bool maps = name == "map", by_attribute = name.ends_with("attr");
  const JinjaValue* attribute = by_attribute ? arguments.find(0, "")
                                : maps       ? arguments.find(SIZE_MAX, "attribute")
                                             : nullptr;
  if (by_attribute && !attribute)
    throw user_error("{} needs the name of an attribute", name).help("selectattr('role')");
  const size_t skipped = by_attribute ? 1 : 0;
  JinjaArguments inner{.of = "", .values = {}, .named = {}};
  if (!maps || !attribute)
    for (size_t i = skipped + 1; i < arguments.values.size(); ++i)
      inner.values.push_back(arguments.values[i]);
  const bool named = arguments.values.size() > skipped;
  if (maps && !attribute && !named)
    throw UserError("map needs a filter or an attribute").help("map(attribute='role')");
  if (named) inner.of = arguments.text(skipped, "name", {});
  std::vector<JinjaValue> items;
  for (const JinjaValue& item : items_of(value, budget)) {
    budget.spend(sizeof(JinjaValue));
    const JinjaValue one = attribute ? jinja_item(item, *attribute, budget) : item;
    if (maps) {
      const JinjaValue* otherwise = arguments.find(SIZE_MAX, "default");
      const JinjaValue mapped = attribute ? one : jinja_filter(inner.of, one, inner, budget);
      items.push_back(mapped.is_undefined() && otherwise ? *otherwise : mapped);
    } else {
      const bool holds = named ? jinja_test(inner.of, one, inner, budget) : one.truth();
      if (holds == name.starts_with("select")) items.push_back(item);
    }
  }
  return JinjaValue::list(std::move(items));
}

JinjaValue number_of(const JinjaValue& value, const JinjaArguments& arguments, bool whole) {
  double number = 0;
  int64_t storage = 0;
  const int64_t* integer = value.as_integer(storage);
  if (integer) return whole ? JinjaValue(*integer) : JinjaValue(static_cast<double>(*integer));
  bool valid = value.as_number(number);
  if (const std::string* text = value.as_text()) {
    const std::string digits(stripped(*text));
    char* end = nullptr;
    if (whole && digits.size() < 19 &&
        digits.find_first_not_of("+-0123456789") == std::string::npos) {
      const int64_t parsed = std::strtoll(digits.c_str(), &end, 10);
      if (!digits.empty() && *end == 0) return JinjaValue(parsed);
    }
    number = std::strtod(digits.c_str(), &end);
    valid = !digits.empty() && *end == 0 && digits.find_first_of("xXpP") == std::string::npos;
  }
  const JinjaValue* otherwise = arguments.find(0, "default");
  if (!valid || !(std::abs(number) < 9e18))
    return otherwise ? *otherwise : whole ? JinjaValue(int64_t{0}) : JinjaValue(0.0);
  return whole ? JinjaValue(static_cast<int64_t>(number)) : JinjaValue(number);
}

JinjaValue pairs_of(const JinjaValue& value, bool sorts, JinjaBudget& budget) {
  const JinjaDict* dict = value.as_dict();
  if (!dict && !value.is_undefined())
    throw user_error("a {} has no pairs", value.type_name()).help("test with `is mapping` first");
  std::vector<JinjaMember> members = dict ? dict->members : std::vector<JinjaMember>();
  budget.spend(members.size() * 5 * sizeof(JinjaMember));
  if (sorts)
    std::ranges::stable_sort(members, [](const JinjaMember& a, const JinjaMember& b) {
      return lower_text(a.first) < lower_text(b.first);
    });
  std::vector<JinjaValue> items;
  for (auto& [name, member] : members)
    items.push_back(JinjaValue::list({JinjaValue::text(name), member}, true));
  return JinjaValue::list(std::move(items));
}

JinjaValue indented(const JinjaValue& value, const JinjaArguments& arguments, JinjaBudget& budget) {
  arguments.only(3, {"width", "first", "blank"});
  const JinjaValue* width = arguments.find(0, "width");
  const std::string before =
      width && width->as_text()
          ? *width->as_text()
          : std::string(
                static_cast<size_t>(std::clamp<int64_t>(arguments.integer(0, "width", 4), 0, 64)),
                ' ');
  const bool blank = arguments.flag(2, "blank", false);
  // As Jinja does it: with a line break at the end, so that an empty text has a line.
  std::vector<std::string> lines = split_lines(text_of_any(value, budget) + "\n");
  budget.spend(lines.size() * (before.size() + sizeof(std::string)));
  std::string out = arguments.flag(1, "first", false) ? before : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\n" + (blank || !lines[i].empty() ? before : "");
    out += lines[i];
  }
  return JinjaValue::text(std::move(out));
}

JinjaValue reversed(const JinjaValue& value, JinjaBudget& budget) {
  const JinjaValue step(int64_t{-1});
  if (value.as_text()) return jinja_slice(value, JinjaValue(), JinjaValue(), step, budget);
  std::vector<JinjaValue> items = items_of(value, budget);
  std::ranges::reverse(items);
  return JinjaValue::list(std::move(items));
}

JinjaValue text_filter(std::string_view name, const JinjaValue& value,
                       const JinjaArguments& arguments, JinjaBudget& budget) {
  const std::string text = text_of_any(value, budget);
  if (name == "trim") {
    const JinjaValue* given = arguments.find(0, "chars");
    std::optional<std::string_view> characters;
    if (given && given->as_text()) {
      characters = *given->as_text();
      budget.spend(text.size() * (1 + characters->size() / 8));
    }
    return JinjaValue::text(std::string(stripped(text, characters)));
  }
  if (name == "replace") {
    const JinjaValue whole = JinjaValue::text(text), method = jinja_method(whole, "replace");
    return call_method(**method.get<JinjaValue::Function>(), arguments, budget);
  }
  return JinjaValue::text(name == "upper"        ? upper_text(text)
                          : name == "lower"      ? lower_text(text)
                          : name == "capitalize" ? capital_text(text)
                          : name == "title"      ? title_text(text)
                                                 : text);
}

JinjaValue default_of(const JinjaValue& value, const JinjaArguments& arguments) {
  const bool replaces =
      value.is_undefined() || (arguments.flag(1, "boolean", false) && !value.truth());
  if (!replaces) return value;
  const JinjaValue* otherwise = arguments.find(0, "default_value");
  return otherwise ? *otherwise : JinjaValue::text("");
}

}  // namespace

JinjaValue jinja_filter(std::string_view name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaBudget& budget) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  // `safe` marks text as HTML, which templates of chats never are.
  if (is_one_of({"trim", "upper", "lower", "capitalize", "title", "string", "safe", "replace"}))
    return text_filter(name, value, arguments, budget);
  if (name == "length" || name == "count") return length_of(value, budget);
  if (name == "tojson") return json_of(value, arguments, budget);
  if (name == "join") return joined(value, arguments, budget);
  if (name == "default" || name == "d") return default_of(value, arguments);
  if (is_one_of({"map", "select", "reject", "selectattr", "rejectattr"}))
    return of_each(name, value, arguments, budget);
  if (name == "int" || name == "float") return number_of(value, arguments, name == "int");
  if (name == "items" || name == "dictsort") return pairs_of(value, name == "dictsort", budget);
  if (name == "indent") return indented(value, arguments, budget);
  if (name == "reverse") return reversed(value, budget);
  if (name == "list") return JinjaValue::list(items_of(value, budget));
  if (name == "first" || name == "last") {
    const std::vector<JinjaValue> items = items_of(value, budget);
    return items.empty() ? JinjaValue() : name == "first" ? items.front() : items.back();
  }
  if (name == "abs") {
    double number = 0;
    if (!value.as_number(number))
      throw user_error("a {} has no abs", value.type_name()).help("use a number");
    return number < 0 ? jinja_binary("-", JinjaValue(int64_t{0}), value, budget) : value;
  }
  throw user_error("the filter {} is not supported", python_quoted(name))
      .help("see docs/chat.md for those that are");
}

}  // namespace tessera
