// SPDX-License-Identifier: Apache-2.0
#include "system/stop_signal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string_view>

namespace tessera {
namespace {

// How a process that does nothing else ends: 0 where the claim holds.
int ends_with(const std::function<bool()>& claim) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(claim() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(StopSignal, AnswersWhatCameBeforeItAndOutlivesWhatComesAfterIt) {
  EXPECT_EQ(ends_with([] {
              StopSignal::hold_until_handled();
              std::raise(SIGUSR1);
              std::raise(SIGUSR2);
              bool answered = false;
              {
                StopSignal signals;
                answered = signals.take_save_request() && signals.requested() &&
                           std::string_view(signals.name()) == "SIGUSR2";
              }
              std::raise(SIGUSR1);
              return answered;
            }),
            0);
}

TEST(StopSignal, TakesAHangupAsAWishToStopUnlessItWasIgnored) {
  EXPECT_EQ(ends_with([] {
              const StopSignal signals;
              std::raise(SIGHUP);
              return signals.requested() && std::string_view(signals.name()) == "SIGHUP";
            }),
            0);
  EXPECT_EQ(ends_with([] {
              std::signal(SIGHUP, SIG_IGN);
              {
                const StopSignal signals;
                std::raise(SIGHUP);
                if (signals.requested()) return false;
              }
              std::raise(SIGHUP);
              return true;
            }),
            0);
}

TEST(StopSignal, IsEndedByASecondSigtermAndNotByTheSameOneOftener) {
  EXPECT_EQ(ends_with([] {
              const StopSignal signals;
              for (int i = 0; i < 3; ++i) std::raise(SIGTERM);
              return signals.requested() && StopSignal::told_to_end();
            }),
            0);
  EXPECT_EQ(ends_with([] {
              const StopSignal signals;
              std::raise(SIGTERM);
              ::usleep(1'100'000);
              std::raise(SIGTERM);
              return true;
            }),
            SIGTERM);
}

}  // namespace
}  // namespace tessera
