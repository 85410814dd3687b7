// SPDX-License-Identifier: Apache-2.0
// Learns a byte-pair vocabulary: the most frequent pair of adjacent tokens becomes a new token,
// repeatedly; ties go to the pair with the smaller ids. The same words give the same tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tokenizer/tokenizer_spec.h"
#include "tokenizer/word_counts.h"

namespace tessera {

// All tokens before the first merge: special ones, then bytes in the order of their characters.
TokenizerSpec untrained_spec(const std::vector<std::string>& special);

// Adds tokens and merges until the vocabulary has `vocabulary` tokens, or no pair occurs twice.
// `progress` receives the number of tokens so far.
void train_bpe(TokenizerSpec& spec, const WordCounts& words, int64_t vocabulary,
               const std::function<void(int64_t)>& progress);

}  // namespace tessera
