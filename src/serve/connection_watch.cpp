// SPDX-License-Identifier: Apache-2.0
#include "serve/connection_watch.h"

#include <poll.h>
#include <sys/socket.h>

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kLookForLateOnes{200};

std::chrono::steady_clock::time_point after(std::optional<double> seconds) {
  using Clock = std::chrono::steady_clock;
  if (!seconds) return Clock::time_point::max();
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
}

}  // namespace

ConnectionWatch::ConnectionWatch() : thread_([this] { close_late_ones(); }) {}

ConnectionWatch::~ConnectionWatch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_all();
  thread_.join();
}

void ConnectionWatch::add(const void* connection, int socket, double seconds) {
  const std::lock_guard lock(mutex_);
  watched_[connection] = {socket, after(seconds)};
}

void ConnectionWatch::remove(const void* connection) {
  const std::lock_guard lock(mutex_);
  watched_.erase(connection);
}

void ConnectionWatch::allow(const void* connection, std::optional<double> seconds) {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(connection);
  if (found != watched_.end()) found->second.deadline = after(seconds);
}

size_t ConnectionWatch::count() const {
  const std::lock_guard lock(mutex_);
  return watched_.size();
}

void ConnectionWatch::close_late_ones() {
  std::unique_lock lock(mutex_);
  while (!ended_changed_.wait_for(lock, kLookForLateOnes, [&] { return ended_; })) {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [connection, watched] : watched_)
      if (watched.deadline < now) ::shutdown(watched.socket, SHUT_RDWR);
  }
}

bool is_closed_by_peer(int socket) {
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

}  // namespace tessera
