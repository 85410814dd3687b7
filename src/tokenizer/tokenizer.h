// SPDX-License-Identifier: Apache-2.0
// Text to tokens and back. A Tokenizer never changes and is shared by threads; each thread has an
// Encoder. Bytes that are not UTF-8 are words of their own, so decoding gives back any input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split_rule.h"
#include "tokenizer/tokenizer_spec.h"
#include "tokenizer/word_cache.h"

namespace tessera {

class Tokenizer {
 public:
  explicit Tokenizer(TokenizerSpec spec);

  int64_t vocabulary_size() const { return static_cast<int64_t>(bytes_.size()); }  // largest id + 1
  // Empty for an id that no token has.
  std::string_view bytes_of(int32_t id) const;
  std::string decode(std::span<const int32_t> ids) const;
  // The added token with this text.
  std::optional<int32_t> find_added(std::string_view text) const;
  // The token that parts documents: the first of <|endoftext|>, <|end_of_text|> and </s> that is
  // an added token.
  std::optional<int32_t> document_end() const;

  const TokenizerSpec& spec() const { return spec_; }

 private:
  friend class Encoder;
  TokenizerSpec spec_;
  BpeModel model_;
  AddedTokenFinder raw_finder_, normalized_finder_;
  std::vector<std::optional<SplitRule>> rules_;  // of the spec's steps
  std::vector<std::string> bytes_;               // by id
};

class Encoder {
 public:
  explicit Encoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}  // which must outlive it

  // Appends the tokens of a text; without those that the tokenizer puts around one.
  void encode(std::string_view text, std::vector<int32_t>& ids);
  std::vector<int32_t> encode(std::string_view text);

 private:
  void encode_segment(std::string_view text);
  void encode_valid(std::string_view text);
  void cut(std::string_view piece, size_t step);
  void encode_word(std::string_view word);

  const Tokenizer& tokenizer_;
  std::vector<int32_t>* ids_ = nullptr;
  SplitScratch split_scratch_;
  BpeModel::Scratch bpe_scratch_;
  WordCache cache_;
  std::string composed_;
};

}  // namespace tessera
