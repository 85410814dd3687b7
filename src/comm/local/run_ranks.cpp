// SPDX-License-Identifier: Apache-2.0
#include "comm/local/run_ranks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "comm/peer_error.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// What the others are told of an exception of this rank.
void put_on_board(LocalHub& hub, int rank, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerError& peer) {
    hub.fail(rank, peer.guilty_rank(), Failure::Peer, peer.what());
  } catch (const UserError& user) {
    hub.fail(rank, rank, Failure::User, user.what());
  } catch (const std::exception& other) {
    hub.fail(rank, rank, Failure::Peer, other.what());
  } catch (...) {
    hub.fail(rank, rank, Failure::Peer, "something that is no std::exception was thrown");
  }
}

std::exception_ptr run_rank(LocalHub& hub, int rank, const std::function<void(RankWorld&)>& body) {
  // Made outside, because a rank ends with its world.
  const std::unique_ptr<RankWorld> world = hub.world(rank);
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

class Threads {
 public:
  Threads(LocalHub& hub, const std::function<void(RankWorld&)>& body)
      : hub_(hub),
        errors_(static_cast<size_t>(hub.options().ranks)),
        running_(hub.options().ranks) {
    for (int rank = 0; rank < hub.options().ranks; ++rank)
      threads_.emplace_back([this, rank, &body] {
        const std::exception_ptr error = run_rank(hub_, rank, body);
        const std::lock_guard lock(mutex_);
        errors_[static_cast<size_t>(rank)] = error;
        --running_;
        ended_.notify_one();
      });
  }

  void join(double grace_seconds) {
    Clock::time_point failed_at{};
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; }))
      if (grace_is_over(hub_, failed_at, grace_seconds)) leave_stuck();
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
  int running_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<std::thread> threads_;
};

class Processes {
 public:
  Processes(LocalHub& hub, const std::function<void(RankWorld&)>& body) : hub_(hub) {
    std::fflush(nullptr);  // or every child would write what is buffered
    for (int rank = 0; rank < hub.options().ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        const bool failed = run_rank(hub, rank, body) != nullptr;
        std::fflush(nullptr);
        _exit(failed ? kPeerExitStatus : 0);
      }
      if (child < 0)
        hub.fail(rank, rank, Failure::Peer,
                 fmt::format("rank {} cannot be forked: {}", rank, std::strerror(errno)));
      children_.push_back(child);
    }
  }

  void join(double grace_seconds) {
    Clock::time_point failed_at{};
    while (reap() > 0) {
      if (grace_is_over(hub_, failed_at, grace_seconds))
        for (const pid_t child : children_)
          if (child > 0) kill(child, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (!hub_.failed()) return;
    const Failure& failure = hub_.failure();
    if (failure.kind == Failure::User) throw UserError(failure.text);
    throw PeerError(failure.guilty_rank, failure.text);
  }

 private:
  // Returns how many still run; a child that died of a signal could not tell the others itself.
  int reap() {
    int running = 0;
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      if (children_[rank] <= 0) continue;
      int status = 0;
      if (waitpid(children_[rank], &status, WNOHANG) == 0) {
        ++running;
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
  std::vector<pid_t> children_;
};

}  // namespace

void run_ranks(LocalHub& hub, const std::function<void(RankWorld&)>& body, double grace_seconds) {
  if (hub.options().processes)
    Processes(hub, body).join(grace_seconds);
  else
    Threads(hub, body).join(grace_seconds);
}

void run_ranks(int ranks, const std::function<void(RankWorld&)>& body,
               const RunRanksOptions& options) {
  LocalHub hub({.ranks = ranks,
                .deadline_seconds = options.deadline_seconds,
                .processes = options.processes});
  run_ranks(hub, body, options.grace_seconds);
}

}  // namespace tessera
