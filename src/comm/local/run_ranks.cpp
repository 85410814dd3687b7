// SPDX-License-Identifier: Apache-2.0
#include "comm/local/run_ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "comm/failure/peer_error.h"
#include "comm/local/local_world.h"
#include "files/storage_error.h"
#include "system/blocked_signals.h"
#include "system/seconds_since.h"
#include "system/threads.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// What the others are told of an exception of this rank.
void put_on_board(LocalHub& hub, int rank, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerError& peer) {
    hub.fail(rank, peer.guilty_rank(), Failure::Peer, peer.what());
  } catch (const StorageError& storage) {
    hub.fail(rank, rank, Failure::Peer, fmt::format("rank {}: {}", rank, storage.what()));
  } catch (const UserError& user) {
    const std::string zero(1, '\0');
    hub.fail(rank, rank, Failure::User,
             user.message() + zero + user.place() + zero + user.advice());
  } catch (const InternalError& bug) {
    hub.fail(rank, rank, Failure::Bug, bug.what());
  } catch (const std::exception& other) {
    hub.fail(rank, rank, Failure::Peer, other.what());
  } catch (...) {
    hub.fail(rank, rank, Failure::Peer, "something other than a std::exception was thrown");
  }
}

UserError user_error_of(const Failure& failure) {
  std::string_view rest(failure.text, Failure::kTextBytes);
  const auto next = [&] {
    const size_t end = std::min(rest.find('\0'), rest.size());
    std::string text(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return text;
  };
  std::string message = next(), place = next();
  return UserError(std::move(message)).at(std::move(place)).help(next());
}

std::exception_ptr run_rank(LocalHub& hub, int rank, const std::function<void(RankWorld&)>& body) {
  // Made outside, because a rank ends with its world.
  const std::unique_ptr<RankWorld> world = make_local_world(hub, rank);
  std::exception_ptr error;
  try {
    body(*world);
  } catch (...) {
    error = std::current_exception();
    put_on_board(hub, rank, error);
  }
  return error;
}

bool grace_is_over(const LocalHub& hub, Clock::time_point& failed_at, double grace_seconds) {
  if (!hub.failed()) return false;
  if (failed_at == Clock::time_point{}) failed_at = Clock::now();
  return std::chrono::duration<double>(Clock::now() - failed_at).count() > grace_seconds;
}

bool any_runs(const std::vector<bool>& running) {
  return std::find(running.begin(), running.end(), true) != running.end();
}

// What ranks do together is done when the first has ended well: the others must follow.
class LastRanks {
 public:
  explicit LastRanks(LocalHub& hub) : hub_(hub) {}

  void look(const std::vector<bool>& running) {
    const auto late = std::find(running.begin(), running.end(), true);
    if (hub_.failed() || late == running.end()) return;
    if (std::find(running.begin(), running.end(), false) == running.end()) return;
    if (!first_end_) first_end_ = Clock::now();
    const double deadline = hub_.options().deadline_seconds;
    if (seconds_since(*first_end_) < deadline) return;
    const int rank = static_cast<int>(late - running.begin());
    hub_.fail(
        rank, rank, Failure::Peer,
        fmt::format("rank {} does not end, {:.3g} s after the first that did", rank, deadline));
  }

 private:
  LocalHub& hub_;
  std::optional<Clock::time_point> first_end_;
};

class Threads {
 public:
  Threads(LocalHub& hub, const std::function<void(RankWorld&)>& body)
      : hub_(hub),
        errors_(static_cast<size_t>(hub.options().ranks)),
        running_(static_cast<size_t>(hub.options().ranks), true) {
    threads_ = start_threads(hub.options().ranks, [this, &body](int rank) {
      const std::exception_ptr error = run_rank(hub_, rank, body);
      const std::lock_guard lock(mutex_);
      errors_[static_cast<size_t>(rank)] = error;
      running_[static_cast<size_t>(rank)] = false;
      ended_.notify_one();
    });
  }

  void join(double grace_seconds, const std::function<void()>& on_failure) {
    Clock::time_point failed_at{};
    const auto fails = [&] { return hub_.failed() && failed_at == Clock::time_point{}; };
    LastRanks last(hub_);
    std::unique_lock lock(mutex_);
    while (true) {
      ended_.wait_for(lock, std::chrono::milliseconds(100),
                      [&] { return !any_runs(running_) || fails(); });
      last.look(running_);
      if (fails() && on_failure) on_failure();
      if (!any_runs(running_)) break;
      if (grace_is_over(hub_, failed_at, grace_seconds)) leave_stuck();
    }
    lock.unlock();
    for (std::thread& thread : threads_) thread.join();
    if (!hub_.failed()) return;
    const Failure& failure = hub_.failure();
    const std::exception_ptr& first = errors_[static_cast<size_t>(failure.rank)];
    if (first) std::rethrow_exception(first);
    throw PeerError(failure.guilty_rank, failure.text);
  }

 private:
  // A thread that never returns cannot be stopped, and its stack may use anything of ours.
  [[noreturn]] void leave_stuck() {
    std::fprintf(stderr, "error: %s\n help: a rank does not end; leaving without it\n",
                 hub_.failure().text);
    std::fflush(nullptr);
    std::_Exit(kPeerExitStatus);
  }

  LocalHub& hub_;
  std::vector<std::exception_ptr> errors_;
  std::vector<bool> running_;  // by rank
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<std::thread> threads_;
};

class Processes {
  static constexpr double kPollSeconds = 0.005;

 public:
  Processes(LocalHub& hub, const std::function<void(RankWorld&)>& body) : hub_(hub) {
    std::fflush(nullptr);  // or every child would write what is buffered
    const pid_t parent = getpid();
    for (int rank = 0; rank < hub.options().ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        become_rank(parent);
        const bool failed = run_rank(hub, rank, body) != nullptr;
        std::fflush(nullptr);
        _exit(failed ? kPeerExitStatus : 0);
      }
      if (child < 0)
        hub.fail(rank, rank, Failure::Peer,
                 fmt::format("rank {} cannot be forked: {}", rank, std::strerror(errno)));
      // Here and in the child, because either may be first.
      if (child > 0) setpgid(child, group_ == 0 ? child : group_);
      if (group_ == 0) group_ = std::max(child, 0);
      children_.push_back(child);
    }
  }

  void join(double grace_seconds, const std::function<void()>& on_failure) {
    Clock::time_point failed_at{};
    LastRanks last(hub_);
    for (std::vector<bool> running = reap(); any_runs(running); running = reap()) {
      last.look(running);
      if (hub_.failed() && failed_at == Clock::time_point{} && on_failure) on_failure();
      if (grace_is_over(hub_, failed_at, grace_seconds)) signal_all(SIGKILL);
      if (const int signal = signals_.next_within(kPollSeconds); signal != 0) signal_all(signal);
    }
    if (!hub_.failed()) return;
    if (failed_at == Clock::time_point{} && on_failure) on_failure();
    const Failure& failure = hub_.failure();
    if (failure.kind == Failure::User) throw user_error_of(failure);
    if (failure.kind == Failure::Bug) throw InternalError(failure.text);
    throw PeerError(failure.guilty_rank, failure.text);
  }

 private:
  void become_rank(pid_t parent) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kPeerExitStatus);
    setpgid(0, group_);
    signals_.restore();
  }

  void signal_all(int signal) const {
    for (const pid_t child : children_)
      if (child > 0) kill(child, signal);
  }

  // Returns which still run, by rank; a child that died of a signal could not tell the others
  // itself.
  std::vector<bool> reap() {
    std::vector<bool> running(children_.size(), false);
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      if (children_[rank] <= 0) continue;
      int status = 0;
      if (waitpid(children_[rank], &status, WNOHANG) == 0) {
        running[rank] = true;
        continue;
      }
      children_[rank] = 0;
      const int id = static_cast<int>(rank);
      if (WIFSIGNALED(status))
        hub_.fail(id, id, Failure::Peer,
                  fmt::format("rank {} was ended by signal {} ({})", rank, WTERMSIG(status),
                              strsignal(WTERMSIG(status))));
      else if (WEXITSTATUS(status) != 0 && !hub_.failed())
        hub_.fail(id, id, Failure::Peer,
                  fmt::format("rank {} exited with {}", rank, WEXITSTATUS(status)));
    }
    return running;
  }

  LocalHub& hub_;
  // They ask the run for something: handed on to every rank, and not acted upon here.
  const BlockedSignals signals_{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  pid_t group_ = 0;
  std::vector<pid_t> children_;
};

}  // namespace

void run_ranks(LocalHub& hub, const std::function<void(RankWorld&)>& body, double grace_seconds,
               const std::function<void()>& on_failure) {
  if (hub.options().processes)
    Processes(hub, body).join(grace_seconds, on_failure);
  else
    Threads(hub, body).join(grace_seconds, on_failure);
}

void run_ranks(int ranks, const std::function<void(RankWorld&)>& body,
               const RunRanksOptions& options) {
  LocalHub hub({.ranks = ranks,
                .deadline_seconds = options.deadline_seconds,
                .processes = options.processes});
  run_ranks(hub, body, options.grace_seconds);
}

}  // namespace tessera
