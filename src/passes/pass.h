// SPDX-License-Identifier: Apache-2.0
// A pass: a name, what it is for, the form it needs and leaves, and one function that returns
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
  Form requires_form;        // the least form it reads
  Form ensures_form;         // the form it leaves at least
  std::function<PassCounts(Module&)> run;
};

}  // namespace tessera
