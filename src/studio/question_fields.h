// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a question, which anybody may have written: what is unknown, of another kind
// or out of bounds is a UserError that names the field.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studio/answers.h"

namespace tessera {

// A UserError where `object` has another field than these.
void require_known_fields(const Json& object, std::initializer_list<std::string_view> known);

struct WholeBounds {
  int64_t low, high;
};

// Nothing where the field is absent.
std::optional<std::string> find_text(const Json& object, std::string_view field);
std::optional<int64_t> find_whole(const Json& object, std::string_view field, WholeBounds bounds);
std::optional<double> find_number(const Json& object, std::string_view field);
std::optional<bool> find_flag(const Json& object, std::string_view field);
std::optional<std::vector<std::string>> find_texts(const Json& object, std::string_view field);

}  // namespace tessera
