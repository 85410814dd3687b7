// SPDX-License-Identifier: Apache-2.0
// What all worlds have alike.
#include <unistd.h>

#include <numeric>

#include "comm/communicator.h"

namespace tessera {

std::unique_ptr<Communicator> RankWorld::everyone(std::string name) {
  std::vector<int> ranks(static_cast<size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return group(ranks, std::move(name));
}

std::string RankWorld::machine() const {
  char host[256] = {};
  return gethostname(host, sizeof host - 1) == 0 ? host : "";
}

}  // namespace tessera
