// SPDX-License-Identifier: Apache-2.0
// What one rank's script moves: calls and elements of its collectives, counted from the program.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "program/program.h"

namespace tessera {

struct Moved {
  int64_t calls = 0;
  int64_t elements =
      0;  // of the whole tensor that is summed or gathered; of what is sent otherwise
  bool operator==(const Moved&) const = default;
};

// By "op axes", such as "all_reduce dp".
using Traffic = std::map<std::string, Moved>;

// Of the calls that `counts` picks. Single numbers (losses, counts, norms) stand under "scalar".
Traffic traffic_of(const Program& program, std::string_view script,
                   const std::function<bool(const ScriptCall&)>& counts);
inline Traffic traffic_of(const Program& program) {
  return traffic_of(program, "train_step", [](const ScriptCall&) { return true; });
}

}  // namespace tessera
