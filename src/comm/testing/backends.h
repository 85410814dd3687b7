// SPDX-License-Identifier: Apache-2.0
// The ways of running ranks that the suites of communicators are repeated over. Which file
// implements `backends` depends on the executable: threads and processes, or one rank under mpirun.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "comm/communicator.h"

namespace tessera {

// Memory that peers can reach, from the start of the test to its end.
using Allocate = std::function<std::byte*(int64_t bytes)>;

struct Backend {
  std::string name;
  // Runs body on every rank. EXPECT may be used in it.
  void (*each_rank)(int ranks, double deadline_seconds,
                    const std::function<void(RankWorld&, const Allocate&)>& body);

  friend std::ostream& operator<<(std::ostream& out, const Backend& backend) {
    return out << backend.name;
  }
};

std::vector<Backend> backends();
// And those that cut what they send into small messages.
std::vector<Backend> backends_with_cut_messages();
std::vector<int> rank_counts();

// "Threads4": the suffix of a test that is repeated over backends and numbers of ranks.
template <typename Instance>
std::string backend_and_ranks(const Instance& instance) {
  return std::get<0>(instance.param).name + std::to_string(std::get<1>(instance.param));
}

}  // namespace tessera
