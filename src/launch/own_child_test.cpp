// SPDX-License-Identifier: Apache-2.0
#include "launch/own_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

int code_of(OwnChild& child) {
  while (!child.ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return *child.ended();
}

// The program of a test is the tests: these two are what its children run.
TEST(OwnChildTest, DISABLED_Waits) {
  std::printf("waits\n");
  std::fflush(stdout);
  pause();
}

TEST(OwnChildTest, DISABLED_StartsTwo) {
  const TemporaryFolder folder;
  const std::vector<std::string> words = {"--gtest_filter=OwnChildTest.DISABLED_Waits",
                                          "--gtest_also_run_disabled_tests"};
  OwnChild one(words, folder.path() / "one"), two(words, folder.path() / "two");
  std::printf("%d %d\n", one.process(), two.process());
  std::fflush(stdout);
  ASSERT_EQ(code_of(two), 128 + SIGKILL);
  EXPECT_FALSE(one.ended());
}

std::vector<std::string> words_for(const std::string& test) {
  return {"--gtest_filter=OwnChildTest." + test, "--gtest_also_run_disabled_tests"};
}

void wait_for(const std::filesystem::path& file, const std::string& text) {
  while (read_text(file).find(text) == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(OwnChildTest, RunsThisProgramWithItsOutputInAFile) {
  const TemporaryFolder folder;
  OwnChild child({"--gtest_list_tests", "--gtest_filter=OwnChildTest.*", "$(touch x); `x`"},
                 folder.path() / "out");
  EXPECT_EQ(code_of(child), 0);
  EXPECT_NE(read_text(folder.path() / "out").find("RunsThisProgram"), std::string::npos);
}

TEST(OwnChildTest, GetsSignalsAndTheyReachNobodyOnceItHasEnded) {
  const TemporaryFolder folder;
  OwnChild child(words_for("DISABLED_Waits"), folder.path() / "out");
  wait_for(folder.path() / "out", "waits\n");
  EXPECT_FALSE(child.ended());
  child.send(SIGTERM);
  EXPECT_EQ(code_of(child), 128 + SIGTERM);
  child.send(SIGKILL);
}

TEST(OwnChildTest, IsToldWhenTheThreadThatStartedItEnds) {
  const TemporaryFolder folder;
  std::unique_ptr<OwnChild> child;
  std::thread([&] {
    child = std::make_unique<OwnChild>(words_for("DISABLED_Waits"), folder.path() / "out");
    wait_for(folder.path() / "out", "waits\n");
  }).join();
  EXPECT_EQ(code_of(*child), 128 + SIGTERM);
}

TEST(OwnChildTest, OfAParentOneIsKilledByItsPlace) {
  const TemporaryFolder folder;
  OwnChild parent(words_for("DISABLED_StartsTwo"), folder.path() / "out");
  EXPECT_FALSE(kill_child_of(parent.process(), 2, 2));
  EXPECT_FALSE(kill_child_of(parent.process(), 0, 3));
  while (!kill_child_of(parent.process(), 1, 2))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(code_of(parent), 0) << read_text(folder.path() / "out");
}

TEST(OwnChildTest, WritesThroughNoLink) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(folder.path() / "other", folder.path() / "out");
  EXPECT_THROW(OwnChild({"--gtest_list_tests"}, folder.path() / "out"), UserError);
}

}  // namespace
}  // namespace tessera
