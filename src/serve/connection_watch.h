// SPDX-License-Identifier: Apache-2.0
// Closes connections that are late: a client that sends its request, or takes its reply, byte by
// byte would otherwise hold a connection as long as it likes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace tessera {

class ConnectionWatch {
 public:
  ConnectionWatch();
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  // `connection` is any address that is its own. The socket stays open until `remove`.
  void add(const void* connection, int socket, double seconds);
  void remove(const void* connection);
  // Nothing: it may take as long as it does.
  void allow(const void* connection, std::optional<double> seconds);
  size_t count() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Watched {
    int socket;
    Time deadline;
  };
  void close_late_ones();

  mutable std::mutex mutex_;
  std::condition_variable ended_changed_;
  std::map<const void*, Watched> watched_;
  bool ended_ = false;
  std::thread thread_;
};

// Whether the other side has closed the connection, or half of it.
bool is_closed_by_peer(int socket);

}  // namespace tessera
