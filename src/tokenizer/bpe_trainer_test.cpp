// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe_trainer.h"

#include <gtest/gtest.h>

#include <map>

#include "core/testing/temporary_folder.h"
#include "tokenizer/encoder.h"
#include "tokenizer/testing/mixed_text.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/tokenizer_writer.h"

namespace tessera {
namespace {

using Tokens = std::vector<std::string>;

TokenizerSpec trained(const WordCounts& words, int64_t merges) {
  TokenizerSpec spec = untrained_spec({"<|endoftext|>"});
  spec.steps.emplace_back().pattern = kLlama3Rule;
  train_bpe(spec, words, 257 + merges, [](int64_t) {});
  return spec;
}

Tokens new_tokens(const TokenizerSpec& spec) {
  Tokens tokens;
  for (size_t i = 256; i < spec.tokens.size(); ++i) tokens.push_back(spec.tokens[i].bytes);
  return tokens;
}

// The definition: count all pairs of all words from scratch, merge the best everywhere, repeat.
Tokens reference_train(const WordCounts& words, const TokenizerSpec& untrained, int merges) {
  std::map<std::string, int32_t> ids;
  for (const BytesToken& token : untrained.tokens) ids[token.bytes] = token.id;
  std::vector<std::pair<Tokens, int64_t>> parts;
  for (const auto& [word, count] : words) {
    Tokens bytes;
    for (const char c : word) bytes.emplace_back(1, c);
    parts.emplace_back(bytes, count);
  }
  Tokens made;
  while (static_cast<int>(made.size()) < merges) {
    std::map<std::pair<int32_t, int32_t>, std::pair<int64_t, std::pair<std::string, std::string>>>
        pairs;
    for (const auto& [word, count] : parts)
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        auto& entry = pairs[{ids[word[i]], ids[word[i + 1]]}];
        entry.first += count;
        entry.second = {word[i], word[i + 1]};
      }
    auto best = pairs.end();
    for (auto it = pairs.begin(); it != pairs.end(); ++it)
      if (best == pairs.end() || it->second.first > best->second.first) best = it;
    if (best == pairs.end() || best->second.first < 2) break;
    const auto [left, right] = best->second.second;
    if (ids.try_emplace(left + right, static_cast<int32_t>(ids.size() + 1)).second)
      made.push_back(left + right);
    for (auto& [word, count] : parts)
      for (size_t i = 0; i + 1 < word.size(); ++i)
        if (word[i] == left && word[i + 1] == right) {
          word[i] += word[i + 1];
          word.erase(word.begin() + static_cast<int64_t>(i) + 1);
        }
  }
  return made;
}

TEST(BpeTrainer, MergesTheCommonestPairFirst) {
  const TokenizerSpec spec = trained({{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}}, 5);
  EXPECT_EQ(new_tokens(spec), (Tokens{"es", "est", "lo", "low", "ew"}));
}

TEST(BpeTrainer, StopsWhereNoPairOccursTwice) {
  EXPECT_EQ(new_tokens(trained({{"ab", 2}, {"xyz", 1}}, 100)), Tokens{"ab"});
}

TEST(BpeTrainer, AgreesWithTheDefinition) {
  const TemporaryFolder folder;
  folder.write("a.txt", mixed_text(6000, 11, true));
  folder.write("b.txt", mixed_text(2000, 12, false));
  const Corpus corpus(std::vector<std::string>{folder.path().string()});
  TokenizerSpec spec = untrained_spec({"<|endoftext|>"});
  spec.steps.push_back({.pattern = kGpt2Rule});
  const WordCounts words = count_words(corpus, Tokenizer(spec), 1, [](int64_t) {});
  EXPECT_EQ(new_tokens(trained(words, 120)), reference_train(words, spec, 120));
}

TEST(BpeTrainer, GivesTheSameFileForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (uint64_t i = 0; i < 5; ++i)
    folder.write(fmt::format("{}.txt", i), mixed_text(20'000, i, true));
  const std::vector<std::string> paths{folder.path().string()};
  TokenizerSpec spec = untrained_spec({});
  spec.steps.emplace_back().pattern = kLlama3Rule;
  const Tokenizer cutter(spec);
  const auto words = [&](int threads, int64_t part_bytes) {
    return count_words(Corpus(paths, {.part_bytes = part_bytes}), cutter, threads, [](int64_t) {});
  };
  EXPECT_EQ(words(1, 1 << 20), words(3, 1 << 20));
  EXPECT_EQ(words(1, 1 << 20), words(2, 4000)) << "where parts are cut, too";
}

TEST(BpeTrainer, WritesAFileThatReadsBack) {
  const std::string text = mixed_text(30'000, 4, true);
  const TemporaryFolder folder;
  const Corpus corpus(std::vector<std::string>{folder.write("a.txt", text).string()});
  for (const char* rule : {kGpt2Rule, kQwenRule}) {
    TokenizerSpec spec = untrained_spec({"<|endoftext|>", "<|pad|>"});
    spec.steps.push_back({.pattern = rule});
    train_bpe(spec, count_words(corpus, Tokenizer(spec), 2, [](int64_t) {}), 700, [](int64_t) {});
    const Tokenizer direct(spec), read = parse_tokenizer(to_tokenizer_json(spec), "written");
    const std::vector<int32_t> ids = Encoder(direct).encode(text);
    EXPECT_EQ(Encoder(read).encode(text), ids);
    EXPECT_EQ(read.decode(ids), text);
    EXPECT_EQ(read.vocabulary_size(), 700);
    EXPECT_EQ(read.document_end(), 0);
    EXPECT_LT(ids.size(), text.size() / 2);
  }
}

}  // namespace
}  // namespace tessera
