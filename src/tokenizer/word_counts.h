// SPDX-License-Identifier: Apache-2.0
// How often each word of a corpus occurs: what a vocabulary is learned from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/corpus.h"
#include "tokenizer/tokenizer.h"

namespace tessera {

using WordCounts = std::vector<std::pair<std::string, int64_t>>;

// By word, so the same for any number of threads. Words are cut as `cutter` says; its added tokens
// are no words. `progress` is told the bytes read so far, by any thread, one at a time.
WordCounts count_words(const Corpus& corpus, const Tokenizer& cutter, int threads,
                       const std::function<void(int64_t)>& progress);

}  // namespace tessera
