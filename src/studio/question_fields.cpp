// SPDX-License-Identifier: Apache-2.0
#include "studio/question_fields.h"

#include <algorithm>
#include <cmath>

#include "core/choices.h"

namespace tessera {
namespace {

constexpr size_t kMostTextBytes = 4096;
constexpr size_t kMostTexts = 256;

UserError misfit_of(std::string_view field, std::string_view wanted) {
  return user_error("the question's {} is not {}", field, wanted)
      .at(std::string(field))
      .help(fmt::format("give {}", wanted));
}

const std::string& short_text(const Json& json, std::string_view field) {
  const std::string* text = json.text();
  if (!text) throw misfit_of(field, "a text");
  if (text->size() > kMostTextBytes)
    throw misfit_of(field, fmt::format("a text of at most {} bytes", kMostTextBytes));
  return *text;
}

}  // namespace

void require_known_fields(const Json& object, std::initializer_list<std::string_view> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const JsonMember& member : object.members()) {
    if (std::ranges::count(known, member.name) > 0) continue;
    throw user_error("the question has a field {}, which is not known", member.name)
        .at(member.name.substr(0, kMostTextBytes))
        .help(names.empty() ? "ask without fields" : fmt::format("use {}", join_choices(names)));
  }
}

std::optional<std::string> find_text(const Json& object, std::string_view field) {
  const Json* found = object.find(field);
  return found ? std::optional(short_text(*found, field)) : std::nullopt;
}

std::optional<int64_t> find_whole(const Json& object, std::string_view field, WholeBounds bounds) {
  const Json* found = object.find(field);
  if (!found) return {};
  const std::optional<int64_t> number = found->integer();
  if (!number || *number < bounds.low || *number > bounds.high)
    throw misfit_of(field, fmt::format("a whole number from {} to {}", bounds.low, bounds.high));
  return number;
}

std::optional<double> find_number(const Json& object, std::string_view field) {
  const Json* found = object.find(field);
  if (!found) return {};
  const std::optional<double> number = found->number();
  if (!number || !std::isfinite(*number)) throw misfit_of(field, "a number");
  return number;
}

std::optional<bool> find_flag(const Json& object, std::string_view field) {
  const Json* found = object.find(field);
  if (!found) return {};
  const std::optional<bool> flag = found->flag();
  if (!flag) throw misfit_of(field, "true or false");
  return flag;
}

std::optional<std::vector<std::string>> find_texts(const Json& object, std::string_view field) {
  const Json* found = object.find(field);
  if (!found) return {};
  if (!found->is_array() || found->items().size() > kMostTexts)
    throw misfit_of(field, fmt::format("a list of at most {} texts", kMostTexts));
  std::vector<std::string> texts;
  for (const Json& item : found->items()) texts.push_back(short_text(item, field));
  return texts;
}

}  // namespace tessera
