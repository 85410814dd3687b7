// SPDX-License-Identifier: Apache-2.0
#include "train/stop_signal.h"

#include <csignal>

namespace tessera {
namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t received = 0;

void on_signal(int number) {
  received = number;
  std::signal(number, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  received = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool StopSignal::requested() const { return received != 0; }

const char* StopSignal::name() const { return received == SIGTERM ? "SIGTERM" : "SIGINT"; }

}  // namespace tessera
