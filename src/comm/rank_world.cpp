// SPDX-License-Identifier: Apache-2.0
// What all worlds share.
#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "comm/communicator.h"

namespace tessera {

std::unique_ptr<Communicator> RankWorld::everyone(std::string name) {
  std::vector<int> ranks(static_cast<size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return group(ranks, std::move(name));
}

// NCCL's own variable to tell machines apart, so that NCCL and we count the same machines.
std::string RankWorld::machine() const {
  if (const char* id = std::getenv("NCCL_HOSTID")) return id;
  char host[256] = {};
  return gethostname(host, sizeof host - 1) == 0 ? host : "";
}

}  // namespace tessera
