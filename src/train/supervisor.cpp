// SPDX-License-Identifier: Apache-2.0
#include "train/supervisor.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/blocked_signals.h"
#include "core/error.h"
#include "core/say.h"
#include "core/seconds_since.h"

namespace tessera {
namespace {

struct Ending {
  int status = 0;
  bool asked = false;  // by a signal to stop

  bool by_signal() const { return WIFSIGNALED(status); }
  int code() const { return by_signal() ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }
  std::string text() const {
    if (by_signal())
      return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
};

bool asks_to_stop(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGUSR2;
}

pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& unset,
            const BlockedSignals& signals, bool launcher) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw user_error("cannot start {}: the system gives no process", command.front());
  if (child > 0) return child;
  // It must not outlive its supervisor, whatever happens to that one.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);  // a terminal's signals come through the supervisor alone
  for (const std::string& variable : unset) unsetenv(variable.c_str());
  signals.restore();
  // A tessera begins with signals held and answers them later; a launcher would never hear them.
  sigset_t none;
  sigemptyset(&none);
  if (launcher) pthread_sigmask(SIG_SETMASK, &none, nullptr);
  execvp(arguments.front(), arguments.data());
  _exit(127);
}

Ending await(pid_t child, const BlockedSignals& signals, int stop_signal) {
  Ending ending;
  while (true) {
    const int signal = signals.next();
    if (signal == SIGUSR1) {
      kill(child, signal);
      continue;
    }
    if (signal != SIGCHLD) {
      ending.asked = true;
      kill(child, stop_signal == 0 ? signal : stop_signal);
      continue;
    }
    if (waitpid(child, &ending.status, WNOHANG) == child) break;
  }
  kill(-child, SIGKILL);  // whatever it may have left of its group
  return ending;
}

}  // namespace

SupervisorResult supervise(const Supervised& supervised, const SupervisorOptions& options) {
  const BlockedSignals signals{SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  SupervisorResult result;
  int64_t reached = supervised.progress();
  int stuck = 0;  // failures in a row without progress
  double pause = options.first_pause_seconds;
  const auto ends_with = [&](int code) {
    result.code = code;
    return result;
  };
  for (int starts = 0;; ++starts) {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = start(supervised.command(starts),
                              starts > 0 ? supervised.unset_on_restart : std::vector<std::string>{},
                              signals, options.stop_signal != 0);
    const Ending ending = await(child, signals, options.stop_signal);
    result.seconds += seconds_since(begin);
    const bool is_final = std::find(options.final_codes.begin(), options.final_codes.end(),
                                    ending.code()) != options.final_codes.end();
    if (ending.code() == 0 || ending.asked || is_final) return ends_with(ending.code());
    ++result.failures;
    if (supervised.after_failure) supervised.after_failure();
    const int64_t now = supervised.progress();
    stuck = now > reached ? 1 : stuck + 1;
    if (now > reached) pause = options.first_pause_seconds;
    reached = std::max(reached, now);
    say(options.log, "supervisor: the run {}; its newest checkpoint is {}\n", ending.text(),
        reached < 0 ? "none" : fmt::format("of step {}", reached));
    if (stuck >= options.failures_without_progress) {
      if (!supervised.ask_for_less || !supervised.ask_for_less()) {
        say(options.log, "supervisor: {} failures without a new checkpoint: given up\n", stuck);
        return ends_with(kNoProgressExitStatus);
      }
      stuck = 0;
    }
    if (starts == options.restarts) {
      say(options.log, "supervisor: {} restarts used up: given up\n", starts);
      return ends_with(kGaveUpExitStatus);
    }
    say(options.log, "supervisor: restart {} of {} in {:.1f} s\n", starts + 1, options.restarts,
        pause);
    std::fflush(options.log);
    if (const int signal = signals.next_within(pause); asks_to_stop(signal))
      return ends_with(128 + signal);
    pause = std::min(2 * pause, options.longest_pause_seconds);
  }
}

}  // namespace tessera
