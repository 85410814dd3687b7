// SPDX-License-Identifier: Apache-2.0
// The data movement of each collective between mailboxes, once all members have started it. No
// element of a result is written by two members, and none of an input is read by a member after
// another may have written it: that is what makes in-place use safe.
#pragma once

#include <vector>

#include "comm/local/local_operation.h"
#include "comm/part_layout.h"

namespace tessera {

// Room for one source and one target per member, so that moving allocates nothing.
struct MoveScratch {
  std::vector<Source> sources;
  std::vector<Target> targets;
};

// This member's share of the work.
void move_parts(const LocalOperation& op, MoveScratch& scratch);
void move_received(const LocalOperation& receive);
// Copies this member's input parts into its mailbox.
void move_inline(const LocalOperation& op, int parts);

}  // namespace tessera
