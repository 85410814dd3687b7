// SPDX-License-Identifier: Apache-2.0
// The lines of an answer on their way from the thread that answers to the connection that sends
// them. A connection that is slower than the answer makes it wait.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace tessera {

class LineStream {
 public:
  // By the thread that answers. Waits while much is unsent; false once nobody listens. An empty
  // line is not sent.
  bool tell(std::string_view line);
  void finish();  // nothing follows

  // By the connection. Waits for bytes and copies some of them; 0 at the end, -1 where `gone` says,
  // while it waits, that nobody listens.
  long take(char* to, size_t most, const std::function<bool()>& gone);
  // Waits for the first line or the end, for at most `seconds`.
  bool has_begun_within(double seconds);
  bool ended_without_lines();
  void stop_listening();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string unsent_;
  bool begun_ = false, finished_ = false, listened_ = true;
};

}  // namespace tessera
