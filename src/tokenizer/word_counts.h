// SPDX-License-Identifier: Apache-2.0
// Counts the words of a corpus, from which a vocabulary is learned.
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

// By word, so the same for any number of threads. `cutter` splits text into words; its added tokens
// are not words. `progress` receives the bytes read so far, from any thread, one at a time.
WordCounts count_words(const Corpus& corpus, const Tokenizer& cutter, int threads,
                       const std::function<void(int64_t)>& progress);

}  // namespace tessera
