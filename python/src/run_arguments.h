// SPDX-License-Identifier: Apache-2.0
// How Python gives a run: a file or None, and a list of (key, value, keyword).
#pragma once

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "run_settings.h"

namespace tessera {

using GivenFile = std::optional<std::string>;
using GivenSettings = std::vector<std::tuple<std::string, std::string, std::string>>;

inline RunSettings run_settings_of(const GivenFile& file, const GivenSettings& given) {
  RunSettings run{.file = file, .settings = {}};
  for (const auto& [key, value, keyword] : given) run.settings.push_back({key, value, keyword});
  return run;
}

}  // namespace tessera
