// SPDX-License-Identifier: Apache-2.0
// Runs one body per rank on this machine, as threads or as forked processes. A rank that throws or
// dies stops the others with a PeerError; the first cause is what the caller gets. Processes die
// with their parent, form a group of their own, and get its signals to stop from it.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/communicator.h"
#include "comm/local/local_hub.h"

namespace tessera {

// The exit status of a process that a peer brought down.
inline constexpr int kPeerExitStatus = 3;

struct RunRanksOptions {
  bool processes = false;
  double deadline_seconds = 120;
  // How long ranks may take to end after the first failure. Then processes are killed; a thread
  // cannot be, so the whole process ends with kPeerExitStatus, after saying why.
  double grace_seconds = 10;
};

void run_ranks(int ranks, const std::function<void(RankWorld&)>& body,
               const RunRanksOptions& options = {});
// The same with a hub of one's own, whose memory the body may allocate from.
// `on_failure` is called once, while the ranks may still be looked at.
void run_ranks(LocalHub& hub, const std::function<void(RankWorld&)>& body,
               double grace_seconds = 10, const std::function<void()>& on_failure = {});

}  // namespace tessera
