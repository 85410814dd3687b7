// SPDX-License-Identifier: Apache-2.0
#include "launch/supervisor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/testing/temporary_folder.h"
#include "system/process.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : log_(std::fopen((folder_.path() / "log").c_str(), "w")) {}
  ~SupervisorTest() override { std::fclose(log_); }

  // Runs a shell script; it counts its starts in the file `starts` and its progress in `progress`.
  int run(const std::string& script, SupervisorOptions options = {}) {
    options.first_pause_seconds = 0.01;
    options.longest_pause_seconds = 0.05;
    options.patience_seconds = patience_seconds_;
    options.log = log_;
    const std::string all =
        fmt::format("cd {}; echo x >> starts; ", folder_.path().string()) + script;
    return supervise({.command =
                          [&](int) {
                            return std::vector<std::string>{"sh", "-c", all};
                          },
                      .progress = [&] { return lines("progress") - 1; },
                      .unset_on_restart = {"SUPERVISOR_TEST"},
                      .began = began_,
                      .over = over_,
                      .record = [&](const EndedStart& start) { ended_.push_back(start); },
                      .ready = ready_,
                      .must_move = move_,
                      .complete = complete_,
                      .ask_for_less = less_},
                     options)
        .code;
  }
  int64_t lines(const std::string& file) const {
    const std::string text = read_text(folder_.path() / file);
    return std::count(text.begin(), text.end(), '\n');
  }

  // Runs the script under its own supervisor, until it has written a line to `ready`.
  pid_t run_apart(const std::string& script, const SupervisorOptions& options = {}) {
    const pid_t supervisor = fork();
    if (supervisor == 0) _exit(run(script, options));
    while (lines("ready") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return supervisor;
  }
  static int exit_code(pid_t supervisor) {
    int status = 0;
    waitpid(supervisor, &status, 0);
    return WEXITSTATUS(status);
  }

  TemporaryFolder folder_;
  std::FILE* log_;
  std::function<bool()> less_, ready_, move_, complete_;
  std::vector<EndedStart> ended_;
  std::function<bool(int)> began_, over_;
  double patience_seconds_ = 0;
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
  const pid_t supervisor = run_apart(
      "trap 'echo x >> saved' USR1; echo x >> ready; while ! test -e saved; do sleep 0.01; done; "
      "exit 0");
  kill(supervisor, SIGUSR1);
  EXPECT_EQ(exit_code(supervisor), 0);
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
  const pid_t supervisor = run_apart(
      "trap 'echo x >> stopped; exit 7' TERM; echo x >> ready; while :; do sleep 0.01; done");
  kill(supervisor, SIGTERM);
  EXPECT_EQ(exit_code(supervisor), 7);
  EXPECT_EQ(lines("stopped"), 1);
  EXPECT_EQ(lines("starts"), 1);
}

TEST_F(SupervisorTest, TakesItsCommandWithItWhenItIsKilled) {
  const pid_t supervisor = run_apart("echo $$ > pid; echo x >> ready; exec sleep 100");
  const pid_t command = std::stoi(read_text(folder_.path() / "pid"));
  kill(supervisor, SIGKILL);
  waitpid(supervisor, nullptr, 0);
  const auto alive = [&] {
    const char state = process_state(command);
    return state != '\0' && state != 'Z';
  };
  for (int i = 0; i < 6000 && alive(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(alive());
}

TEST_F(SupervisorTest, GivesUpWithoutProgressOnlyWhenItHasLastedForAWhile) {
  patience_seconds_ = 0.5;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run("kill -9 $$"), kNoProgressExitStatus);
  EXPECT_GE(seconds_since(begin), patience_seconds_);
  EXPECT_GE(lines("starts"), 3);
}

TEST_F(SupervisorTest, OutlivesAnOutageOfWhateverStartsTheRun) {
  patience_seconds_ = 1000;
  SupervisorOptions options;
  options.restarts = 0;  // a failed launch is not a restart
  began_ = [](int code) { return code != 1; };
  EXPECT_EQ(run("test $(wc -l < starts) -gt 5 && exit 0; exit 1", options), 0);
  EXPECT_EQ(lines("starts"), 6);
}

TEST_F(SupervisorTest, TriesBadInputAgainThatAnEarlierStartDidNotHave) {
  patience_seconds_ = 1000;
  began_ = [](int code) { return code != kUserExitStatus; };
  EXPECT_EQ(
      run("n=$(wc -l < starts); test $n -eq 1 && kill -9 $$; test $n -gt 3 && exit 0; exit 2"), 0);
  EXPECT_EQ(lines("starts"), 4);
}

TEST_F(SupervisorTest, EndsWithBadInputThatDoesNotGoAway) {
  patience_seconds_ = 0.3;
  began_ = [](int code) { return code != kUserExitStatus; };
  EXPECT_EQ(run("test $(wc -l < starts) -eq 1 && kill -9 $$; exit 2"), kUserExitStatus);
}

TEST_F(SupervisorTest, GivesUpWhatNeverBegins) {
  began_ = [](int) { return false; };
  EXPECT_EQ(run("exit 1"), kNoProgressExitStatus);
}

TEST_F(SupervisorTest, KillsACommandThatHasNothingLeftToDo) {
  SupervisorOptions options;
  options.seconds_to_end = 0.1;
  over_ = [this](int) { return lines("over") > 0; };
  EXPECT_EQ(run("test $(wc -l < starts) -gt 1 && exit 0; echo x >> over; sleep 1000", options), 0);
  EXPECT_EQ(lines("starts"), 2);
}

TEST_F(SupervisorTest, LeavesNothingAliveThatACommandHasStarted) {
  EXPECT_EQ(run("setsid sleep 1000 & echo $! > pid; exit 2"), 2);
  const pid_t left = std::stoi(read_text(folder_.path() / "pid"));
  EXPECT_EQ(process_state(left), '\0');
}

constexpr const char* kDeafToSigterm =
    "trap 'echo x >> asked' TERM; echo x >> ready; while :; do sleep 0.01; done";

TEST_F(SupervisorTest, KillsWithASecondSignalToStop) {
  const pid_t supervisor = run_apart(kDeafToSigterm);
  kill(supervisor, SIGTERM);
  while (lines("asked") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(supervisor, SIGTERM);
  EXPECT_EQ(exit_code(supervisor), 128 + SIGTERM);
  EXPECT_EQ(lines("asked"), 1);
  EXPECT_EQ(lines("starts"), 1);
}

TEST_F(SupervisorTest, KillsWithTheFirstSignalToStopWhatHasNothingLeftToDo) {
  SupervisorOptions options;
  options.seconds_to_end = 20;
  over_ = [](int) { return true; };
  const pid_t supervisor = run_apart(kDeafToSigterm, options);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(supervisor, SIGINT);
  EXPECT_EQ(exit_code(supervisor), 128 + SIGINT);
}

TEST_F(SupervisorTest, TakesOneRequestToStopThatCameTwiceForOne) {
  const pid_t supervisor =
      run_apart("trap 'sleep 0.5; exit 7' TERM; echo x >> ready; while :; do sleep 0.01; done");
  for (int i = 0; i < 3; ++i) {
    kill(supervisor, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(exit_code(supervisor), 7);
}

// Saves when it is told to, and has done all in the third start.
constexpr const char* kSaves =
    "trap 'exit 0' TERM; test $(wc -l < starts) -ge 3 && exit 0; echo x >> begun; "
    "while :; do sleep 0.01; done";

TEST_F(SupervisorTest, StartsAgainAtOnceWhatItAskedToSave) {
  SupervisorOptions options;
  options.restarts = 0;  // none of them is a restart after a failure
  move_ = [this] { return lines("begun") > std::ssize(ended_); };  // then its trap is set
  EXPECT_EQ(run(kSaves, options), 0);
  EXPECT_EQ(lines("starts"), 3);
  ASSERT_EQ(ended_.size(), 3U);
  EXPECT_TRUE(ended_[0].moves && ended_[1].moves && !ended_[2].moves);
  EXPECT_FALSE(ended_[0].failed || ended_[0].stopped);
}

TEST_F(SupervisorTest, DoesNotStartAgainWhatIsCompleteWhenItIsAskedToSave) {
  move_ = [this] { return lines("begun") > 0; };
  complete_ = [] { return true; };
  EXPECT_EQ(run(kSaves), 0);
  EXPECT_EQ(lines("starts"), 1);
}

TEST_F(SupervisorTest, CountsAFailureWhereWhatItAskedToSaveFails) {
  move_ = [this] { return lines("begun") > std::ssize(ended_); };  // then its trap is set
  EXPECT_EQ(run("test $(wc -l < starts) -ge 2 && exit 0; trap 'exit 3' TERM; echo x >> begun; "
                "while :; do sleep 0.01; done"),
            0);
  ASSERT_EQ(ended_.size(), 2U);
  EXPECT_TRUE(ended_[0].failed && !ended_[0].moves);
}

TEST_F(SupervisorTest, StartsOnlyWhenWhatItNeedsIsThere) {
  int asked = 0;
  ready_ = [&] { return ++asked > 2; };
  EXPECT_EQ(run("exit 0"), 0);
  EXPECT_EQ(asked, 3);
  EXPECT_GT(ended_.at(0).waited_seconds, 0.4);
}

TEST_F(SupervisorTest, GivesUpWhenWhatItNeedsDoesNotCome) {
  SupervisorOptions options;
  options.ready_seconds = 0.3;
  ready_ = [] { return false; };
  EXPECT_EQ(run("exit 0", options), kNoProgressExitStatus);
  EXPECT_EQ(lines("starts"), 0);
}

}  // namespace
}  // namespace tessera
