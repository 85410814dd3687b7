// SPDX-License-Identifier: Apache-2.0
#include "chat/jinja_arguments.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

template <typename T>
T given_or(const JinjaArguments& arguments, std::string_view name, const JinjaValue* value,
           const T* found, const std::optional<T>& otherwise, const char* what) {
  if (found) return *found;
  if ((!value || value->is_none()) && otherwise) return *otherwise;
  throw user_error("{} needs {} as {}, but has a {}", arguments.of, what, name,
                   value ? value->type_name() : "none")
      .help("see docs/chat.md");
}

}  // namespace

const JinjaValue* JinjaArguments::find(size_t index, std::string_view name) const {
  if (index < values.size()) return &values[index];
  for (const auto& [given, value] : named)
    if (given == name) return &value;
  return nullptr;
}

int64_t JinjaArguments::integer(size_t index, std::string_view name,
                                std::optional<int64_t> otherwise) const {
  const JinjaValue* value = find(index, name);
  int64_t storage = 0;
  return given_or(*this, name, value, value ? value->as_integer(storage) : nullptr, otherwise,
                  "a whole number");
}

std::string JinjaArguments::text(size_t index, std::string_view name,
                                 std::optional<std::string> otherwise) const {
  const JinjaValue* value = find(index, name);
  return given_or(*this, name, value, value ? value->as_text() : nullptr, otherwise, "a text");
}

bool JinjaArguments::flag(size_t index, std::string_view name, bool otherwise) const {
  const JinjaValue* value = find(index, name);
  return value ? value->truth() : otherwise;
}

void JinjaArguments::only(size_t count, std::initializer_list<std::string_view> names) const {
  if (values.size() > count)
    throw user_error("{} takes at most {} values, but has {}", of, count, values.size())
        .help("see docs/chat.md");
  for (const auto& [name, unused] : named)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw user_error("{} takes no value named {}", of, name).help("see docs/chat.md");
}

}  // namespace tessera
