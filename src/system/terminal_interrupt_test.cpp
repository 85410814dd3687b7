// SPDX-License-Identifier: Apache-2.0
#include "system/terminal_interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

namespace tessera {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(files_.data()), 0); }
  ~Pipe() {
    end();
    ::close(files_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return files_[0]; }
  void write(char byte) { EXPECT_EQ(::write(files_[1], &byte, 1), 1); }
  void end() {
    if (files_[1] >= 0) ::close(files_[1]);
    files_[1] = -1;
  }

 private:
  std::array<int, 2> files_{};
};

TEST(TerminalInterrupt, IsTakenOnceForAllThatCame) {
  TerminalInterrupt interrupt;
  EXPECT_FALSE(interrupt.take());
  std::raise(SIGINT);
  std::raise(SIGINT);
  EXPECT_TRUE(interrupt.take());
  EXPECT_FALSE(interrupt.take());
}

TEST(TerminalInterrupt, EndsAWaitThatBeginsAfterIt) {
  TerminalInterrupt interrupt;
  const Pipe input;
  std::raise(SIGINT);
  EXPECT_FALSE(interrupt.wait_for(input.reader()));
  EXPECT_FALSE(interrupt.take()) << "the wait has taken it";
}

TEST(TerminalInterrupt, EndsAWaitWhicheverThreadGetsTheSignal) {
  TerminalInterrupt interrupt;
  const Pipe input;
  std::thread other([] { std::raise(SIGINT); });
  EXPECT_FALSE(interrupt.wait_for(input.reader()));
  other.join();
}

TEST(TerminalInterrupt, LetsInputAndItsEndThrough) {
  TerminalInterrupt interrupt;
  Pipe input;
  input.write('a');
  EXPECT_TRUE(interrupt.wait_for(input.reader()));
  char byte = 0;
  EXPECT_EQ(::read(input.reader(), &byte, 1), 1);
  input.end();
  EXPECT_TRUE(interrupt.wait_for(input.reader()));
}

}  // namespace
}  // namespace tessera
