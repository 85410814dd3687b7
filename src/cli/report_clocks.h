// SPDX-License-Identifier: Apache-2.0
// A traced run beside its own simulation, as text or JSON.
#pragma once

#include <string>

namespace tessera {

// A UserError where the folder has no trace, or one of another program.
void print_clocks(const std::string& folder, bool json);

}  // namespace tessera
