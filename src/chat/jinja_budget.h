// SPDX-License-Identifier: Apache-2.0
// What a template may spend: a template comes with a model and is not trusted. Each operation costs
// one, and each byte that it reads or makes a little, so time and memory are bounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/error.h"

namespace tessera {

class JinjaBudget {
 public:
  explicit JinjaBudget(int64_t bytes) : left_(bytes) {}

  void spend(size_t bytes) {
    left_ -= kOperation + static_cast<int64_t>(bytes);
    if (left_ < 0)
      throw UserError("the chat template takes more work than a template may")
          .help("shorten the conversation, or repair a loop of the template that grows");
  }

 private:
  static constexpr int64_t kOperation = 32;
  int64_t left_;
};

}  // namespace tessera
