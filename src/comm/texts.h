// SPDX-License-Identifier: Apache-2.0
// Exchanges texts between the members of a group, which all call the same function together.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace tessera {

// The first member gets the texts of all; the others get nothing.
std::vector<std::string> gather_strings(Communicator& group, std::string mine);
// All members get the text of the first.
std::string broadcast_string(Communicator& group, std::string of_first);

}  // namespace tessera
