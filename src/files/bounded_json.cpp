// SPDX-License-Identifier: Apache-2.0
#include "files/bounded_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <vector>

namespace tessera {

using Json = nlohmann::json;

std::string parse_bounded_json(std::string_view text, int max_depth, Json& json) {
  std::vector<std::set<std::string>> names;  // of the objects around, by depth
  std::string twice;
  bool deep = false;
  // The parser keeps the last of two equal names silently, so they are counted here.
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > max_depth) deep = true;
    if (deep) return false;
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      names.resize(static_cast<size_t>(depth) + 1);
      names.emplace_back();
    } else if (event == Json::parse_event_t::key) {
      names.resize(static_cast<size_t>(depth) + 1);
      const std::string& name = parsed.get_ref<const std::string&>();
      if (!names[static_cast<size_t>(depth)].insert(name).second && twice.empty()) twice = name;
    }
    return true;
  };
  json = Json::parse(text.begin(), text.end(), watch, false);
  if (deep) return fmt::format("is nested more than {} deep", max_depth);
  if (json.is_discarded()) return "is not JSON";
  if (!twice.empty()) return fmt::format("names {} twice", twice);
  return "";
}

}  // namespace tessera
