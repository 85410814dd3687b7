// SPDX-License-Identifier: Apache-2.0
#include "chat/jinja_value.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kDeepestValue = 64;

int deeper(int depth, const JinjaValue& item) {
  if (item.get<JinjaValue::Namespace>() || item.get<JinjaValue::Loop>())
    throw user_error("a {} cannot be put into another value", item.type_name())
        .help("keep it in a variable of its own");
  const int found = std::max(depth, item.depth() + 1);
  if (found > kDeepestValue)
    throw user_error("values are nested more than {} deep", kDeepestValue)
        .help("use a template with flatter values");
  return found;
}

}  // namespace

const JinjaValue* JinjaDict::find(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return &value;
  return nullptr;
}

JinjaValue JinjaValue::text(std::string text) {
  return JinjaValue(std::make_shared<const std::string>(std::move(text)));
}

JinjaValue JinjaValue::list(std::vector<JinjaValue> items, bool is_tuple) {
  int depth = 1;
  for (const JinjaValue& item : items) depth = deeper(depth, item);
  return JinjaValue(
      std::make_shared<const JinjaList>(JinjaList{std::move(items), is_tuple, depth}));
}

JinjaValue JinjaValue::dict(std::vector<JinjaMember> members) {
  int depth = 1;
  for (const auto& [unused, item] : members) depth = deeper(depth, item);
  return JinjaValue(std::make_shared<const JinjaDict>(JinjaDict{std::move(members), depth}));
}

JinjaValue JinjaValue::from_json(const Json& json) {
  if (json.is_null()) return none();
  if (json.flag()) return JinjaValue(*json.flag());
  if (json.integer()) return JinjaValue(*json.integer());
  if (json.number()) return JinjaValue(*json.number());
  if (json.text()) return text(*json.text());
  if (json.is_array()) {
    std::vector<JinjaValue> items;
    for (const Json& item : json.items()) items.push_back(from_json(item));
    return list(std::move(items));
  }
  std::vector<JinjaMember> members;
  for (const JsonMember& member : json.members())
    members.emplace_back(member.name, from_json(member.value));
  return dict(std::move(members));
}

const std::string* JinjaValue::as_text() const {
  const Text* text = get<Text>();
  return text ? text->get() : nullptr;
}
const JinjaList* JinjaValue::as_list() const {
  const List* list = get<List>();
  return list ? list->get() : nullptr;
}
const JinjaDict* JinjaValue::as_dict() const {
  const Dict* dict = get<Dict>();
  return dict ? dict->get() : nullptr;
}

const int64_t* JinjaValue::as_integer(int64_t& storage) const {
  if (const bool* flag = get<bool>()) {
    storage = *flag ? 1 : 0;
    return &storage;
  }
  return get<int64_t>();
}

bool JinjaValue::as_number(double& number) const {
  int64_t storage = 0;
  if (const int64_t* integer = as_integer(storage))
    number = static_cast<double>(*integer);
  else if (const double* fraction = get<double>())
    number = *fraction;
  else
    return false;
  return true;
}

bool JinjaValue::truth() const {
  double number = 0;
  if (as_number(number)) return number != 0;
  if (const std::string* text = as_text()) return !text->empty();
  if (const JinjaList* list = as_list()) return !list->items.empty();
  if (const JinjaDict* dict = as_dict()) return !dict->members.empty();
  return !is_undefined() && !is_none();
}

std::string JinjaValue::type_name() const {
  constexpr const char* kNames[] = {"value that is not defined",
                                    "none",
                                    "flag",
                                    "integer",
                                    "float",
                                    "text",
                                    "list",
                                    "dict",
                                    "namespace",
                                    "loop",
                                    "function"};
  return kNames[kind_.index()];
}

int JinjaValue::depth() const {
  if (const JinjaList* list = as_list()) return list->depth;
  if (const JinjaDict* dict = as_dict()) return dict->depth;
  if (const Function* function = get<Function>())
    return (*function)->self ? (*function)->self->depth() + 1 : 0;
  return 0;
}

bool JinjaValue::operator==(const JinjaValue& other) const {
  int64_t a_storage = 0, b_storage = 0;
  const int64_t *a_integer = as_integer(a_storage), *b_integer = other.as_integer(b_storage);
  if (a_integer && b_integer) return *a_integer == *b_integer;
  double a = 0, b = 0;
  if (as_number(a) && other.as_number(b)) return a == b;
  if (as_text() && other.as_text()) return *as_text() == *other.as_text();
  if (const JinjaList* left = as_list(), *right = other.as_list(); left && right)
    return left->is_tuple == right->is_tuple && left->items == right->items;
  if (const JinjaDict* left = as_dict(), *right = other.as_dict(); left && right)
    return left->members.size() == right->members.size() &&
           std::ranges::all_of(left->members, [&](const JinjaMember& member) {
             const JinjaValue* found = right->find(member.first);
             return found && *found == member.second;
           });
  if (const Namespace* left = get<Namespace>())
    return other.get<Namespace>() && *left == *other.get<Namespace>();
  return kind_.index() == other.kind_.index() && (is_undefined() || is_none());
}

}  // namespace tessera
