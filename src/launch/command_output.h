// SPDX-License-Identifier: Apache-2.0
// Runs a short command to its end and returns what it prints: what a scheduler says of its queue.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct CommandOutput {
  int code = 0;      // as a shell gives it; 127: it cannot be started
  std::string text;  // standard output and standard error

  bool good() const { return code == 0; }
};

// Found in PATH. It inherits neither blocked signals nor standard input.
CommandOutput output_of(const std::vector<std::string>& command);

}  // namespace tessera
