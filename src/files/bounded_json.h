// SPDX-License-Identifier: Apache-2.0
// JSON from files that others may have written: nested no deeper than said, no name twice in an
// object. The text's own size bounds the memory that reading takes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace tessera {

// What is wrong with the text ("is nested more than 3 deep"); empty where nothing is.
std::string check_bounded_json(std::string_view text, int max_depth);

// The same; where nothing is wrong, `json` holds it.
std::string parse_bounded_json(std::string_view text, int max_depth, nlohmann::json& json);

}  // namespace tessera
