// SPDX-License-Identifier: Apache-2.0
#include "inference/stop_text.h"

#include <algorithm>
#include <utility>

namespace tessera {

std::string StopText::add(std::string_view piece) {
  if (stopped_) return "";
  waiting_ += piece;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_)
    if (!stop.empty()) first = std::min(first, waiting_.find(stop));
  stopped_ = first != std::string::npos;
  const size_t shown = stopped_ ? first : waiting_.size() - waiting_at_end();
  std::string text = waiting_.substr(0, shown);
  waiting_ = stopped_ ? "" : waiting_.substr(shown);
  return text;
}

std::string StopText::rest() { return std::exchange(waiting_, ""); }

// Bytes at the end with which a stop may begin.
size_t StopText::waiting_at_end() const {
  size_t most = 0;
  for (const std::string& stop : stops_) {
    size_t count = std::min(stop.empty() ? 0 : stop.size() - 1, waiting_.size());
    while (count > most && !waiting_.ends_with(std::string_view(stop).substr(0, count))) --count;
    most = std::max(most, count);
  }
  return most;
}

}  // namespace tessera
