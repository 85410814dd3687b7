// SPDX-License-Identifier: Apache-2.0
// Which token comes next: drawn from softmax(logits / temperature), among the likeliest alone where
// asked.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

struct TokenChoice {
  double temperature = 0.8;  // 0: always the most likely token
  int64_t top_k = 0;         // only the k most likely; 0: all
  // Only the most likely whose probabilities add up to this much, those of top_k; 1: all.
  double top_p = 1;
};

// `uniform` in [0, 1) decides. Of equally likely tokens the one with the smaller number is first.
int32_t choose_token(const std::vector<double>& logits, const TokenChoice& choice, double uniform);

}  // namespace tessera
