// SPDX-License-Identifier: Apache-2.0
// Texts between the members of a group, who all call the same function together.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace tessera {

// What each member says, on the first one; nothing on the others.
std::vector<std::string> gather_strings(Communicator& group, std::string mine);
// What the first member says, on all of them.
std::string broadcast_string(Communicator& group, std::string of_first);

}  // namespace tessera
