// SPDX-License-Identifier: Apache-2.0
// What all islands of a run must share, as names and texts: the hub takes them from the first
// island, and refuses whoever has others.
#pragma once

#include <map>
#include <string>

#include "islands/island_options.h"
#include "islands/wire_format.h"

namespace tessera {

struct IslandSettings {
  OuterOptions outer = {};
  WireFormat format = {};
  int islands = 1;
  std::map<std::string, std::string> others = {};  // the names of their config keys, or the like
};

std::map<std::string, std::string> to_texts(const IslandSettings& settings);
// A UserError where a setting is missing or cannot be read.
IslandSettings settings_of(const std::map<std::string, std::string>& texts);
// "islands.every is 50 in island 2, and 100 in the others"; empty where they agree.
std::string difference(const std::map<std::string, std::string>& own,
                       const std::map<std::string, std::string>& others, int64_t island);

}  // namespace tessera
