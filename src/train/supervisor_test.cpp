// SPDX-License-Identifier: Apache-2.0
#include "train/supervisor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : log_(std::fopen((folder_.path() / "log").c_str(), "w")) {}
  ~SupervisorTest() override { std::fclose(log_); }

  // Runs a shell script; it counts its starts in the file `starts` and its progress in `progress`.
  int run(const std::string& script, SupervisorOptions options = {}) {
    options.first_pause_seconds = 0.01;
    options.log = log_;
    const std::string all =
        fmt::format("cd {}; echo x >> starts; ", folder_.path().string()) + script;
    return supervise({.command =
                          [&](int) {
                            return std::vector<std::string>{"sh", "-c", all};
                          },
                      .progress = [&] { return lines("progress") - 1; },
                      .unset_on_restart = {"SUPERVISOR_TEST"},
                      .ask_for_less = less_},
                     options)
        .code;
  }
  int64_t lines(const std::string& file) const {
    const std::string text = read_text(folder_.path() / file);
    return std::count(text.begin(), text.end(), '\n');
  }

  TemporaryFolder folder_;
  std::FILE* log_;
  std::function<bool()> less_;
};

TEST_F(SupervisorTest, EndsWithACommandThatEndsWell) {
  EXPECT_EQ(run("exit 0"), 0);
  EXPECT_EQ(lines("starts"), 1);
}

TEST_F(SupervisorTest, StartsAgainWhatIsKilledWhileItMakesProgress) {
  EXPECT_EQ(run("echo x >> progress; test $(wc -l < starts) -ge 6 && exit 0; kill -9 $$"), 0);
  EXPECT_EQ(lines("starts"), 6);
}

TEST_F(SupervisorTest, GivesUpWithoutProgress) {
  EXPECT_EQ(run("kill -9 $$"), kNoProgressExitStatus);
  EXPECT_EQ(lines("starts"), 3);
}

TEST_F(SupervisorTest, AsksForLessBeforeItGivesUpWithoutProgress) {
  int asked = 0;
  less_ = [&] { return ++asked < 3; };
  EXPECT_EQ(run("kill -9 $$"), kNoProgressExitStatus);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(lines("starts"), 9);
}

TEST_F(SupervisorTest, HandsOnASignalToSave) {
  const pid_t supervisor = fork();
  if (supervisor == 0)
    _exit(
        run("trap 'echo x >> saved' USR1; echo x >> ready; while ! test -e saved; do sleep 0.01; "
            "done; exit 0"));
  while (lines("ready") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(supervisor, SIGUSR1);
  int status = 0;
  waitpid(supervisor, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(lines("saved"), 1);
}

TEST_F(SupervisorTest, GivesUpWhenRestartsAreUsed) {
  SupervisorOptions options;
  options.restarts = 4;
  EXPECT_EQ(run("echo x >> progress; exit 70", options), kGaveUpExitStatus);
  EXPECT_EQ(lines("starts"), 5);
}

TEST_F(SupervisorTest, DoesNotRepeatBadInput) {
  EXPECT_EQ(run("exit 2"), 2);
  EXPECT_EQ(lines("starts"), 1);
}

TEST_F(SupervisorTest, TakesVariablesFromLaterStarts) {
  setenv("SUPERVISOR_TEST", "set", 1);
  EXPECT_EQ(run("test -z \"$SUPERVISOR_TEST\" && exit 0; kill -9 $$"), 0);
  EXPECT_EQ(lines("starts"), 2);
  unsetenv("SUPERVISOR_TEST");
}

TEST_F(SupervisorTest, HandsOnASignalToStopAndDoesNotStartAgain) {
  const pid_t supervisor = fork();
  if (supervisor == 0)
    _exit(run(
        "trap 'echo x >> stopped; exit 7' TERM; echo x >> ready; while :; do sleep 0.01; done"));
  while (lines("ready") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(supervisor, SIGTERM);
  int status = 0;
  waitpid(supervisor, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(lines("stopped"), 1);
  EXPECT_EQ(lines("starts"), 1);
}

TEST_F(SupervisorTest, TakesItsCommandWithItWhenItIsKilled) {
  const pid_t supervisor = fork();
  if (supervisor == 0) _exit(run("echo $$ > pid; echo x >> ready; exec sleep 100"));
  while (lines("ready") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const pid_t command = std::stoi(read_text(folder_.path() / "pid"));
  kill(supervisor, SIGKILL);
  waitpid(supervisor, nullptr, 0);
  const auto alive = [&] {
    const std::string status = read_text(fmt::format("/proc/{}/stat", command));
    return !status.empty() && status.find(") Z") == std::string::npos;
  };
  for (int i = 0; i < 200 && alive(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(alive());
}

}  // namespace
}  // namespace tessera
