// SPDX-License-Identifier: Apache-2.0
// A pass: a name, a summary, the form it requires and produces, and one function that returns
// counts of what it did.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace tessera {

using PassCounts = std::vector<std::pair<std::string, int64_t>>;

struct Pass {
  std::string_view name;
  std::string_view summary;  // one line; becomes docs/passes.md
  Form requires_form;        // the minimum form of its input
  Form ensures_form;         // the minimum form of its output
  std::function<PassCounts(Module&)> run;
};

}  // namespace tessera
