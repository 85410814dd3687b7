// SPDX-License-Identifier: Apache-2.0
// The methods of texts and dicts that change nothing, as Python's.
#include <algorithm>
#include <array>

#include "chat/jinja_arguments.h"
#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 22> kTextMethods{
    "strip",      "lstrip",   "rstrip",       "split",       "rsplit",     "splitlines",
    "startswith", "endswith", "upper",        "lower",       "find",       "rfind",
    "replace",    "count",    "join",         "isdigit",     "capitalize", "index",
    "isspace",    "isalpha",  "removeprefix", "removesuffix"};
constexpr std::array<std::string_view, 5> kDictMethods{"get", "items", "keys", "values", "copy"};

JinjaValue text_list(std::vector<std::string> texts, JinjaBudget& budget) {
  std::vector<JinjaValue> items;
  for (std::string& text : texts) {
    budget.spend(2 * sizeof(std::string) + sizeof(JinjaValue));
    items.push_back(JinjaValue::text(std::move(text)));
  }
  return JinjaValue::list(std::move(items));
}

bool begins_or_ends(const std::string& text, const JinjaArguments& arguments, bool begins) {
  const JinjaValue* given = arguments.find(0, "prefix");
  const auto holds = [&](const JinjaValue& value) {
    if (!value.as_text())
      throw user_error("{} needs a text, but has a {}", arguments.of, value.type_name())
          .help("give it one");
    return begins ? text.starts_with(*value.as_text()) : text.ends_with(*value.as_text());
  };
  if (given && given->as_list() && given->as_list()->is_tuple)
    return std::ranges::any_of(given->as_list()->items, holds);
  return holds(given ? *given : JinjaValue());
}

int64_t found_at(const std::string& text, const std::string& part, bool last) {
  const size_t at = last ? text.rfind(part) : find_text(text, part, 0);
  return at == std::string::npos ? -1 : character_count(std::string_view(text).substr(0, at));
}

JinjaValue split(const std::string& text, const JinjaArguments& arguments, bool last,
                 JinjaBudget& budget) {
  const std::string by = arguments.text(0, "sep", "");
  const int64_t most = arguments.integer(1, "maxsplit", -1);
  const bool given = arguments.find(0, "sep") && !arguments.find(0, "sep")->is_none();
  if (given && by.empty()) throw UserError("split by an empty text").help("give it a character");
  if (!given && last && most >= 0)
    throw UserError("rsplit by white space with a limit is not supported").help("use split");
  // Parts of a character each take more than the text.
  budget.spend(text.size() * (given && by.size() > 2 ? 8 : 40));
  if (!given) return text_list(split_by_space(text, most), budget);
  return text_list(last ? split_by_last(text, by, most) : split_by(text, by, most), budget);
}

bool all_characters(const std::string& text, std::string_view kind) {
  if (text.empty()) return false;
  if (kind == "isspace") return stripped(text).empty();
  return std::ranges::all_of(text, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 128)
      throw user_error("{} of characters beyond ASCII is not supported", kind)
          .help("test with `in` instead");
    return kind == "isdigit" ? byte >= '0' && byte <= '9'
                             : (byte | 32) >= 'a' && (byte | 32) <= 'z';
  });
}

JinjaValue join(const std::string& by, const JinjaArguments& arguments, JinjaBudget& budget) {
  const JinjaValue* items = arguments.find(0, "iterable");
  std::string out;
  bool first = true;
  for (const JinjaValue& item : items_of(items ? *items : JinjaValue(), budget)) {
    if (!item.as_text())
      throw user_error("join needs texts, but has a {}", item.type_name()).help("use | join");
    budget.spend(by.size() + item.as_text()->size());
    if (!first) out += by;
    first = false;
    out += *item.as_text();
  }
  return JinjaValue::text(std::move(out));
}

JinjaValue replace(const std::string& text, const JinjaArguments& arguments, JinjaBudget& budget) {
  const std::string part = arguments.text(0, "old", {}), by = arguments.text(1, "new", {});
  const size_t places = part.empty() ? text.size() + 1 : find_all_text(text, part).size();
  budget.spend(text.size() + places * (by.size() + sizeof(size_t)));
  return JinjaValue::text(replaced_text(text, part, by, arguments.integer(2, "count", -1)));
}

JinjaValue without_affix(const std::string& text, const JinjaArguments& arguments, bool prefix) {
  const std::string affix = arguments.text(0, "prefix", {});
  if (prefix && text.starts_with(affix)) return JinjaValue::text(text.substr(affix.size()));
  if (!prefix && text.ends_with(affix))
    return JinjaValue::text(text.substr(0, text.size() - affix.size()));
  return JinjaValue::text(text);
}

JinjaValue strip(const std::string& text, const JinjaArguments& arguments, std::string_view name) {
  const JinjaValue* given = arguments.find(0, "chars");
  std::optional<std::string_view> characters;
  if (given && given->as_text()) characters = *given->as_text();
  return JinjaValue::text(std::string(name == "strip"    ? stripped(text, characters)
                                      : name == "lstrip" ? stripped_left(text, characters)
                                                         : stripped_right(text, characters)));
}

JinjaValue call_text_method(const std::string& text, std::string_view name,
                            const JinjaArguments& arguments, JinjaBudget& budget) {
  budget.spend(text.size());
  if (name.ends_with("strip")) {
    const JinjaValue* given = arguments.find(0, "chars");
    if (given && given->as_text()) budget.spend(text.size() * (1 + given->as_text()->size() / 8));
    return strip(text, arguments, name);
  }
  if (name == "split" || name == "rsplit") return split(text, arguments, name == "rsplit", budget);
  if (name == "splitlines") {
    budget.spend(text.size() * 40);
    return text_list(split_lines(text), budget);
  }
  if (name == "startswith" || name == "endswith")
    return JinjaValue(begins_or_ends(text, arguments, name == "startswith"));
  if (name == "upper") return JinjaValue::text(upper_text(text));
  if (name == "lower") return JinjaValue::text(lower_text(text));
  if (name == "capitalize") return JinjaValue::text(capital_text(text));
  if (name == "replace") return replace(text, arguments, budget);
  if (name == "join") return join(text, arguments, budget);
  if (name == "removeprefix" || name == "removesuffix")
    return without_affix(text, arguments, name == "removeprefix");
  if (name.starts_with("is")) return JinjaValue(all_characters(text, name));
  const std::string part = arguments.text(0, "sub", {});
  budget.spend(text.size() * 2 * sizeof(size_t));
  if (name == "rfind") {
    // From the right a search may take the product of both.
    int64_t work = 0;
    if (__builtin_mul_overflow(std::ssize(text), std::ssize(part), &work)) work = INT64_MAX / 2;
    budget.spend(static_cast<size_t>(work));
  }
  if (name == "count")
    return JinjaValue(part.empty() ? character_count(text) + 1
                                   : std::ssize(find_all_text(text, part)));
  const int64_t at = found_at(text, part, name == "rfind");
  if (at < 0 && name == "index")
    throw UserError("index has not found its text").help("use find, or test with `in` first");
  return JinjaValue(at);
}

JinjaValue call_dict_method(const JinjaDict& dict, std::string_view name,
                            const JinjaArguments& arguments, JinjaBudget& budget) {
  budget.spend(dict.members.size() * 3 * sizeof(JinjaValue));
  if (name == "get") {
    const JinjaValue* found = dict.find(arguments.text(0, "key", {}));
    const JinjaValue* otherwise = arguments.find(1, "default");
    return found ? *found : otherwise ? *otherwise : JinjaValue::none();
  }
  if (name == "copy") return JinjaValue::dict(dict.members);
  std::vector<JinjaValue> items;
  for (const auto& [key, value] : dict.members) {
    budget.spend(key.size());
    items.push_back(name == "keys"     ? JinjaValue::text(key)
                    : name == "values" ? value
                                       : JinjaValue::list({JinjaValue::text(key), value}, true));
  }
  return JinjaValue::list(std::move(items));
}

}  // namespace

JinjaValue jinja_method(const JinjaValue& of, std::string_view name) {
  const bool is_method = of.as_text() ? std::ranges::find(kTextMethods, name) != kTextMethods.end()
                         : of.as_dict()
                             ? std::ranges::find(kDictMethods, name) != kDictMethods.end()
                             : false;
  if (!is_method) return JinjaValue();
  return JinjaValue(std::make_shared<const JinjaFunction>(
      JinjaFunction{.name = std::string(name),
                    .macro = nullptr,
                    .self = std::make_shared<const JinjaValue>(of)}));
}

JinjaValue call_method(const JinjaFunction& method, const JinjaArguments& arguments,
                       JinjaBudget& budget) {
  if (const std::string* text = method.self->as_text())
    return call_text_method(*text, method.name, arguments, budget);
  return call_dict_method(*method.self->as_dict(), method.name, arguments, budget);
}

}  // namespace tessera
