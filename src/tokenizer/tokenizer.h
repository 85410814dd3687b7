// SPDX-License-Identifier: Apache-2.0
// A vocabulary and the ways to cut text for it; tokens back to text. It is immutable and shared by
// threads, each of which has its own Encoder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split_rule.h"
#include "tokenizer/tokenizer_spec.h"

namespace tessera {

class Tokenizer {
 public:
  explicit Tokenizer(TokenizerSpec spec);

  int64_t vocabulary_size() const { return static_cast<int64_t>(bytes_.size()); }  // largest id + 1
  // Empty for an id without a token.
  std::string_view bytes_of(int32_t id) const;
  std::string decode(std::span<const int32_t> ids) const;
  // The added token with this text.
  std::optional<int32_t> find_added(std::string_view text) const;
  // The token that separates documents: the first of <|endoftext|>, <|end_of_text|> and </s> that
  // is an added token.
  std::optional<int32_t> document_end() const;

  const TokenizerSpec& spec() const { return spec_; }
  const BpeModel& model() const { return model_; }
  // One per step of the spec; none if a step cuts nothing.
  const std::vector<std::optional<SplitRule>>& rules() const { return rules_; }
  // The next added token in the original text, and in the normalized one.
  std::optional<AddedTokenFinder::Match> find_raw(std::string_view text, size_t from) const {
    return raw_finder_.find(text, from);
  }
  std::optional<AddedTokenFinder::Match> find_normalized(std::string_view text, size_t from) const {
    return normalized_finder_.find(text, from);
  }

 private:
  TokenizerSpec spec_;
  BpeModel model_;
  AddedTokenFinder raw_finder_, normalized_finder_;
  std::vector<std::optional<SplitRule>> rules_;  // of the spec's steps
  std::vector<std::string> bytes_;               // by id
};

}  // namespace tessera
