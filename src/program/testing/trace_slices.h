// SPDX-License-Identifier: Apache-2.0
// Reads a trace back, for tests of runs and of simulations.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"

namespace tessera {

// Names that JSON must escape.
inline void give_blocks_odd_names(std::vector<Program>& programs) {
  for (Program& program : programs)
    for (ProgramBlock& block : program.blocks) block.name = "\"" + block.name + "\"\\\n";
}

// In nanoseconds, as written.
inline int64_t begin_of(const nlohmann::json& slice) {
  return std::llround(1e3 * slice["ts"].get<double>());
}
inline int64_t end_of(const nlohmann::json& slice) {
  return begin_of(slice) + std::llround(1e3 * slice["dur"].get<double>());
}

// Every kernel lies within a slice of the routine, the block and the microbatch that it names, on
// its own track; every rank has both.
inline void expect_kernels_within_routines(const nlohmann::json& events) {
  std::map<int, std::vector<nlohmann::json>> routines;  // by rank
  std::set<int> ranks;
  size_t kernels = 0;
  for (const auto& event : events)
    if (event["ph"] == "X" && event["cat"] == "routine") {
      const auto& args = event["args"];
      const std::string name = event["name"];
      EXPECT_TRUE(name.starts_with(args["routine"].get<std::string>() + " " +
                                   args["block"].get<std::string>()))
          << name;
      routines[event["pid"].get<int>()].push_back(event);
    }
  for (const auto& event : events) {
    if (event["ph"] != "X" || event["cat"] != "kernel") continue;
    ++kernels;
    ranks.insert(event["pid"].get<int>());
    bool within = false;
    for (const auto& routine : routines[event["pid"].get<int>()])
      within = within || (routine["tid"] == event["tid"] && begin_of(routine) <= begin_of(event) &&
                          end_of(event) <= end_of(routine) &&
                          routine["args"]["block"] == event["args"]["block"] &&
                          routine["args"]["routine"] == event["args"]["routine"] &&
                          routine["args"]["microbatch"] == event["args"]["microbatch"]);
    EXPECT_TRUE(within) << event.dump();
  }
  EXPECT_GT(kernels, 50u);
  EXPECT_EQ(ranks.size(), routines.size());
}

// Of "s", where messages leave, or "f", where they arrive.
inline std::multiset<std::string> arrow_ids(const nlohmann::json& events,
                                            const std::string& phase) {
  std::multiset<std::string> found;
  for (const auto& event : events)
    if (event["ph"] == phase) found.insert(event["id"].get<std::string>());
  return found;
}

}  // namespace tessera
