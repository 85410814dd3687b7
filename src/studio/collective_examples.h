// SPDX-License-Identifier: Apache-2.0
// What each collective does to a small tensor, run on ranks that are threads.
#pragma once

#include <string>
#include <vector>

#include "core/reduction.h"
#include "files/json.h"

namespace tessera {

inline constexpr float kUntouched = -1e30f;  // a number that the collective does not change

struct ShownCollective {
  std::string name, title, meaning;
  std::vector<std::vector<float>> after;  // by rank
};

struct CollectiveExamples {
  using Rows = std::vector<std::vector<float>>;  // by rank

  int ranks = 1;
  Reduction reduction = Reduction::Sum;
  Rows before = {};
  std::vector<ShownCollective> collectives = {};
};

CollectiveExamples show_collectives(int ranks, Reduction reduction);
Json to_json(const CollectiveExamples& examples);

}  // namespace tessera
