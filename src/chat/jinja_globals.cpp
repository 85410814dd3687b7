// SPDX-License-Identifier: Apache-2.0
// The functions that every template has, and the attributes of values.
#include <algorithm>
#include <array>

#include "chat/jinja_arguments.h"
#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 5> kGlobals{"range", "namespace", "dict", "raise_exception",
                                                   "strftime_now"};

JinjaValue loop_attribute(const JinjaLoop& loop, std::string_view name) {
  const std::vector<JinjaValue>& items = loop.items->items;
  const auto at = static_cast<int64_t>(loop.index), length = std::ssize(items);
  if (name == "index") return JinjaValue(at + 1);
  if (name == "index0") return JinjaValue(at);
  if (name == "revindex") return JinjaValue(length - at);
  if (name == "revindex0") return JinjaValue(length - at - 1);
  if (name == "first") return JinjaValue(at == 0);
  if (name == "last") return JinjaValue(at + 1 == length);
  if (name == "length") return JinjaValue(length);
  if (name == "depth") return JinjaValue(int64_t{loop.depth});
  if (name == "depth0") return JinjaValue(int64_t{loop.depth - 1});
  if (name == "previtem") return at > 0 ? items[loop.index - 1] : JinjaValue();
  if (name == "nextitem") return at + 1 < length ? items[loop.index + 1] : JinjaValue();
  throw user_error("loop.{} is not supported", name).help("see docs/chat.md for what is");
}

JinjaValue number_range(const JinjaArguments& arguments, JinjaBudget& budget) {
  constexpr int64_t kLongest = 100'000;  // as Jinja's sandbox
  arguments.only(3);
  const bool stop_alone = arguments.values.size() < 2;
  const int64_t begin = stop_alone ? 0 : arguments.integer(0, "start", {});
  const int64_t end = arguments.integer(stop_alone ? 0 : 1, "stop", {});
  const int64_t step = arguments.integer(2, "step", 1);
  if (step == 0) throw UserError("range has a step of 0").help("use another step");
  std::vector<JinjaValue> items;
  for (int64_t at = begin; step > 0 ? at < end : at > end;) {
    if (std::ssize(items) == kLongest)
      throw user_error("range has more than {} numbers", kLongest).help("use a shorter one");
    budget.spend(sizeof(JinjaValue));
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return JinjaValue::list(std::move(items));
}

JinjaValue date_text(const JinjaArguments& arguments, const std::tm& now) {
  std::array<char, 256> shown{};
  const std::string format = arguments.text(0, "format", {});
  const size_t size = std::strftime(shown.data(), shown.size(), format.c_str(), &now);
  return JinjaValue::text(std::string(shown.data(), size));
}

}  // namespace

bool is_jinja_global(std::string_view name) {
  return std::find(kGlobals.begin(), kGlobals.end(), name) != kGlobals.end();
}

JinjaValue call_global(std::string_view name, const JinjaArguments& arguments, const std::tm& now,
                       JinjaBudget& budget) {
  if (name == "range") return number_range(arguments, budget);
  if (name == "strftime_now") return date_text(arguments, now);
  if (name == "raise_exception")
    throw user_error("the chat template refuses the conversation: {}",
                     arguments.text(0, "message", ""))
        .help("change the messages as it asks");
  if (!arguments.values.empty())
    throw user_error("{} takes values with names alone", name).help("write name=value");
  budget.spend(arguments.named.size() * sizeof(JinjaMember));
  JinjaValue dict = JinjaValue::dict(arguments.named);
  if (name == "dict") return dict;
  return JinjaValue(std::make_shared<JinjaNamespace>(JinjaNamespace{arguments.named}));
}

JinjaValue jinja_attribute(const JinjaValue& of, const std::string& name, JinjaBudget& budget) {
  if (of.is_undefined() || of.is_none())
    throw user_error("a {} has no attribute {}", of.type_name(), python_quoted(name))
        .help("test it with `is defined` first");
  if (const JinjaValue::Loop* loop = of.get<JinjaValue::Loop>())
    return loop_attribute(**loop, name);
  const std::vector<JinjaMember>* members = nullptr;
  if (const JinjaValue::Namespace* names = of.get<JinjaValue::Namespace>())
    members = &(*names)->members;
  else if (JinjaValue method = jinja_method(of, name); !method.is_undefined())
    return method;
  else if (of.as_dict())
    members = &of.as_dict()->members;
  if (!members) return JinjaValue();
  budget.spend(members->size());
  const auto found = std::ranges::find(*members, name, &JinjaMember::first);
  return found == members->end() ? JinjaValue() : found->second;
}

}  // namespace tessera
