// SPDX-License-Identifier: Apache-2.0
#include "launch/watched_command.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "system/process.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

using Moment = std::chrono::steady_clock::time_point;

constexpr double kLookSeconds = 0.25;
// `timeout`, shells and schedulers send one request both to a process and to its group; and a
// command needs a moment to end.
constexpr double kSameMomentSeconds = 1;
constexpr double kLongestDyingSeconds = 5;  // one that waits for a disk cannot be killed

bool lies_back(const std::optional<Moment>& moment) {
  return moment && seconds_since(*moment) > kSameMomentSeconds;
}

void kill_with_descendants(pid_t command) {
  const std::vector<pid_t> descendants = descendants_of(command);
  kill(-command, SIGKILL);
  kill(command, SIGKILL);
  for (const pid_t process : descendants) kill(process, SIGKILL);
}

// Orphans become children of this process, so that none can escape.
void kill_children() {
  const Moment begin = std::chrono::steady_clock::now();
  for (std::vector<pid_t> left = children_of(getpid());
       !left.empty() && seconds_since(begin) < kLongestDyingSeconds; left = children_of(getpid())) {
    for (const pid_t process : left) kill(process, SIGKILL);
    usleep(1000);
    for (const pid_t process : left) waitpid(process, nullptr, WNOHANG);
  }
}

}  // namespace

bool asks_to_stop(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGUSR2;
}

int CommandEnd::code() const {
  if (killed && asked != 0) return 128 + asked;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string CommandEnd::text() const {
  if (killed) return "did not end when its ranks had ended, and was killed";
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

pid_t start_command(const std::vector<std::string>& command, const std::vector<std::string>& unset,
                    const BlockedSignals& signals, bool is_launcher) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    throw user_error("cannot start {}: the system cannot create a process", command.front());
  if (child > 0) return child;
  // It must not outlive its supervisor, whatever happens to the latter.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);  // a terminal's signals arrive only through the supervisor
  for (const std::string& variable : unset) unsetenv(variable.c_str());
  signals.restore();
  sigset_t none;
  sigemptyset(&none);
  if (is_launcher) pthread_sigmask(SIG_SETMASK, &none, nullptr);
  execvp(arguments.front(), arguments.data());
  _exit(127);
}

CommandEnd watch_command(pid_t command, const BlockedSignals& signals, const CommandWatch& watch) {
  CommandEnd end;
  std::optional<Moment> asked_at, over_at;
  while (waitpid(command, &end.status, WNOHANG) != command) {
    const int signal = signals.next_within(kLookSeconds);
    if (!over_at && watch.over && watch.over(command)) over_at = std::chrono::steady_clock::now();
    const int as_stop = watch.stop_signal == 0 ? SIGTERM : watch.stop_signal;
    if (!end.moved && !asked_at && !over_at && watch.must_move && watch.must_move()) {
      kill(command, as_stop);
      end.moved = true;
    }
    bool kill_now = over_at && seconds_since(*over_at) > watch.seconds_to_end;
    if (signal == SIGUSR1) {
      kill(command, signal);
    } else if (asks_to_stop(signal)) {
      // A closing terminal may send SIGHUP several times.
      const bool insists = signal == SIGINT || signal == SIGTERM;
      kill_now = kill_now || (insists && (lies_back(asked_at) || lies_back(over_at)));
      // One that saves already has been told.
      if (!asked_at && !end.moved)
        kill(command, watch.stop_signal == 0 ? signal : watch.stop_signal);
      if (!asked_at) asked_at = std::chrono::steady_clock::now();
      end.asked = signal;
    }
    if (!kill_now) continue;
    end.killed = true;
    kill_with_descendants(command);
  }
  kill(-command, SIGKILL);  // the rest of its process group
  kill_children();
  return end;
}

}  // namespace tessera
