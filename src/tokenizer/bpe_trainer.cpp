// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "core/error.h"
#include "tokenizer/byte_alphabet.h"

namespace tessera {
namespace {

constexpr int64_t kLeastCount = 2;
constexpr int64_t kTokensPerReport = 64;

// Two ids in one number, whose order is that of the pairs.
using Pair = uint64_t;
Pair pair_of(int32_t left, int32_t right) {
  return static_cast<Pair>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

struct Candidate {
  int64_t count;
  Pair pair;
  // The top of the queue is its greatest element.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class BpeTrainer {
 public:
  BpeTrainer(TokenizerSpec& spec, const WordCounts& words) : spec_(spec) {
    std::vector<int32_t> byte_ids(256);
    for (const BytesToken& token : spec.tokens) {
      bytes_[token.id] = token.bytes;
      ids_[token.bytes] = token.id;
      if (token.bytes.size() == 1) byte_ids[static_cast<unsigned char>(token.bytes[0])] = token.id;
    }
    words_.reserve(words.size());
    for (const auto& [word, count] : words) {
      std::vector<int32_t>& symbols = words_.emplace_back(Word{{}, count}).symbols;
      for (const char c : word) symbols.push_back(byte_ids[static_cast<unsigned char>(c)]);
      add_pairs(words_.size() - 1, 1);
    }
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
    changed_.clear();
  }

  // False if no remaining pair occurs often enough.
  bool merge_commonest() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const int64_t now = counts_[best.pair];
      if (now != best.count) {
        if (now > 0) queue_.push({now, best.pair});
        continue;
      }
      if (best.count < kLeastCount) return false;
      merge(best.pair);
      return true;
    }
    return false;
  }

 private:
  struct Word {
    std::vector<int32_t> symbols;
    int64_t count;
  };

  // Adds the pairs of a word to the counts, or subtracts them.
  void add_pairs(size_t index, int64_t sign) {
    const Word& word = words_[index];
    for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      const Pair pair = pair_of(word.symbols[i], word.symbols[i + 1]);
      counts_[pair] += sign * word.count;
      if (sign < 0) continue;
      std::vector<uint32_t>& where = where_[pair];
      if (where.empty() || where.back() != index) where.push_back(static_cast<uint32_t>(index));
      changed_.push_back(pair);
    }
  }

  void merge(Pair pair) {
    const auto left = static_cast<int32_t>(pair >> 32), right = static_cast<int32_t>(pair);
    const int32_t merged = token_for(bytes_[left] + bytes_[right]);
    spec_.merges.push_back({left, right, merged});
    const std::vector<uint32_t> where = std::move(where_[pair]);
    where_.erase(pair);
    changed_.clear();
    for (const uint32_t index : where) {
      std::vector<int32_t>& symbols = words_[index].symbols;
      if (!contains(symbols, left, right)) continue;
      add_pairs(index, -1);
      size_t kept = 0;
      for (size_t i = 0; i < symbols.size(); ++i) {
        const bool here = symbols[i] == left && i + 1 < symbols.size() && symbols[i + 1] == right;
        symbols[kept++] = here ? merged : symbols[i];
        if (here) ++i;
      }
      symbols.resize(kept);
      add_pairs(index, 1);
    }
    counts_.erase(pair);
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const Pair each : changed_)
      if (const auto found = counts_.find(each); found != counts_.end())
        queue_.push({found->second, each});
  }

  static bool contains(const std::vector<int32_t>& symbols, int32_t left, int32_t right) {
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      if (symbols[i] == left && symbols[i + 1] == right) return true;
    return false;
  }

  // A text that several merges produce is one token.
  int32_t token_for(const std::string& bytes) {
    const auto [found, fresh] = ids_.try_emplace(bytes, 0);
    if (fresh) {
      found->second = static_cast<int32_t>(spec_.tokens.size() + spec_.added.size());
      spec_.tokens.push_back({bytes, found->second});
      bytes_[found->second] = bytes;
    }
    return found->second;
  }

  TokenizerSpec& spec_;
  std::unordered_map<int32_t, std::string> bytes_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>> where_;  // words that have, or had, the pair
  std::vector<Pair> changed_;                              // pairs that the last merge counted
  std::priority_queue<Candidate> queue_;                   // counts as they were when put there
};

}  // namespace

TokenizerSpec untrained_spec(const std::vector<std::string>& special) {
  TokenizerSpec spec;
  for (const std::string& text : special)
    spec.added.push_back(
        {.id = static_cast<int32_t>(spec.added.size()), .text = text, .special = true});
  std::vector<std::pair<std::string, std::string>> bytes;  // UTF-8 sorts as its code points
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    bytes.emplace_back(to_byte_alphabet(one), one);
  }
  std::sort(bytes.begin(), bytes.end());
  for (const auto& [unused, one] : bytes)
    spec.tokens.push_back({one, static_cast<int32_t>(spec.added.size() + spec.tokens.size())});
  return spec;
}

void train_bpe(TokenizerSpec& spec, const WordCounts& words, int64_t vocabulary,
               const std::function<void(int64_t)>& progress) {
  BpeTrainer trainer(spec, words);
  const auto size = [&] { return static_cast<int64_t>(spec.tokens.size() + spec.added.size()); };
  while (size() < vocabulary && trainer.merge_commonest())
    if (size() % kTokensPerReport == 0 && size() < vocabulary) progress(size());
  progress(size());
}

}  // namespace tessera
