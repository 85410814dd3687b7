// SPDX-License-Identifier: Apache-2.0
#include "serve/connection_watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace tessera {
namespace {

struct SocketPair {
  std::array<int, 2> ends{};
  SocketPair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0); }
  ~SocketPair() {
    for (const int end : ends) ::close(end);
  }
};

TEST(ConnectionWatch, ClosesWhatIsLateAndNothingElse) {
  ConnectionWatch watch;
  SocketPair late, patient;
  watch.add(&late, late.ends[0], 0.01);
  watch.add(&patient, patient.ends[0], 0.01);
  watch.allow(&patient, std::nullopt);
  EXPECT_EQ(watch.count(), 2u);
  char byte = 0;
  EXPECT_EQ(::read(late.ends[1], &byte, 1), 0);  // waits until it is closed
  EXPECT_FALSE(is_closed_by_peer(patient.ends[1]));
  watch.remove(&late);
  EXPECT_EQ(watch.count(), 1u);
}

TEST(ConnectionWatch, SeesThatTheOtherSideHasGone) {
  SocketPair pair;
  EXPECT_FALSE(is_closed_by_peer(pair.ends[0]));
  ::shutdown(pair.ends[1], SHUT_WR);
  EXPECT_TRUE(is_closed_by_peer(pair.ends[0]));
}

}  // namespace
}  // namespace tessera
