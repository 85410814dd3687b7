// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/word_counts.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "system/threads.h"
#include "tokenizer/text_cutter.h"

namespace tessera {
namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using CountMap = std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>>;

class WordCounter : private TextCutter {
 public:
  using TextCutter::TextCutter;
  void add(std::string_view text) { cut_text(text); }
  const CountMap& counts() const { return counts_; }

 private:
  void word(std::string_view word) override {
    const auto found = counts_.find(word);
    if (found != counts_.end())
      ++found->second;
    else
      counts_.emplace(word, 1);
  }
  void token(int32_t /*id*/) override {}

  CountMap counts_;
};

}  // namespace

WordCounts count_words(const Corpus& corpus, const Tokenizer& cutter, int threads,
                       const std::function<void(int64_t)>& progress) {
  std::vector<std::unique_ptr<WordCounter>> counters;
  for (int i = 0; i < threads_or_cores(threads); ++i)
    counters.push_back(std::make_unique<WordCounter>(cutter));
  std::mutex mutex;
  int64_t done = 0;
  run_parts(corpus.parts().size(), threads, [&](size_t index, size_t thread) {
    const CorpusPart& part = corpus.parts()[index];
    corpus.read(part, [&](std::string_view text, bool) { counters[thread]->add(text); });
    const std::lock_guard lock(mutex);
    progress(done += part.end - part.begin);
  });
  CountMap all;
  for (const auto& counter : counters)
    for (const auto& [word, count] : counter->counts()) all[word] += count;
  WordCounts words(all.begin(), all.end());
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace tessera
