// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a wish: while one of these lives, SIGINT leaves a mark instead of ending the process,
// and a wait for a line ends, also where the signal came just before it began.
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

  // Until `file` can be read or has ended. False: an interrupt came, which this takes.
  bool wait_for(int file);

 private:
  struct sigaction before_ {};
};

}  // namespace tessera
