// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a wish: while one of these lives, SIGINT leaves a mark instead of ending the process,
// and a read that waits for a line returns.
#pragma once

#include <csignal>

namespace tessera {

class TerminalInterrupt {
 public:
  TerminalInterrupt();
  ~TerminalInterrupt();
  TerminalInterrupt(const TerminalInterrupt&) = delete;
  TerminalInterrupt& operator=(const TerminalInterrupt&) = delete;

  bool take();  // once for all that came since the last time

 private:
  struct sigaction before_ {};
};

}  // namespace tessera
