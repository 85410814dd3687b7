// SPDX-License-Identifier: Apache-2.0
// The picture of a search: the best plans with their steps, and what each step is made of.
#pragma once

#include <span>
#include <string>

#include "planner/trial.h"

namespace tessera {

// `ranked`: the fastest first; the first ten are drawn.
std::string plans_svg(std::span<const Trial> ranked, const std::string& title);

}  // namespace tessera
