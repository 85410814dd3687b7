// SPDX-License-Identifier: Apache-2.0
#include "system/terminal_interrupt.h"

#include <atomic>

namespace tessera {
namespace {

// A signal handler can only access globals.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int /*number*/) { interrupted = true; }

}  // namespace

TerminalInterrupt::TerminalInterrupt() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART, so that a read ends
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &before_);
}

TerminalInterrupt::~TerminalInterrupt() { ::sigaction(SIGINT, &before_, nullptr); }

bool TerminalInterrupt::take() { return interrupted.exchange(false); }

}  // namespace tessera
