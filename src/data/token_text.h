// SPDX-License-Identifier: Apache-2.0
// A model's tokens as readable text: decoded by a tokenizer; as bytes if the vocabulary is 256 and
// there is no tokenizer; else as numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "tokenizer/tokenizer.h"

namespace tessera {

// data.tokenizer, else a tokenizer.json next to the token shards of data.path; empty: none.
std::filesystem::path tokenizer_of_config(const Config& config);

// Copies it into the folder of a run, so that `generate` finds it there; does nothing if it is
// empty.
void keep_tokenizer(const std::filesystem::path& tokenizer, const std::filesystem::path& folder);

// The text with dots for control characters and for bytes that are not UTF-8, which could confuse a
// terminal.
std::string printable(std::string_view text);

class TokenText {
 public:
  // An empty path: no tokenizer. One with more tokens than the vocabulary is a UserError.
  TokenText(const std::filesystem::path& tokenizer, int64_t vocabulary);

  bool is_text() const { return tokenizer_ || vocabulary_ == kBytes; }
  std::vector<int32_t> encode(std::string_view text) const;
  std::string show(int32_t token) const;  // a number is followed by a space
  // The token before a text: the end of a document, or of a line.
  std::vector<int32_t> opening() const;
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  // The special tokens that the tokenizer's template puts before a text; mostly none.
  std::vector<int32_t> before_text() const;

 private:
  static constexpr int64_t kBytes = 256;
  std::optional<Tokenizer> tokenizer_;
  int64_t vocabulary_;
};

}  // namespace tessera
