// SPDX-License-Identifier: Apache-2.0
// Ends a text before the first of some strings. What may be the begin of one waits until it is
// known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // The next piece of the text; what may be shown now.
  std::string add(std::string_view piece);
  bool stopped() const { return stopped_; }
  // What still waits, after the last piece.
  std::string rest();

 private:
  size_t waiting_at_end() const;

  std::vector<std::string> stops_;
  std::string waiting_;
  bool stopped_ = false;
};

}  // namespace tessera
