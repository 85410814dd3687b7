// SPDX-License-Identifier: Apache-2.0
// A text file as a tokenizer's tokens, encoded once and held: one document.
#pragma once

#include <filesystem>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "train/data/token_source.h"

namespace tessera {

class EncodedText : public TokenSource {
 public:
  EncodedText(const std::filesystem::path& text, const Tokenizer& tokenizer);

  int64_t num_tokens() const override { return static_cast<int64_t>(tokens_.size()); }
  int64_t vocabulary_size() const override { return vocabulary_size_; }  // largest token + 1
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;

 private:
  std::vector<int32_t> tokens_;
  int64_t vocabulary_size_ = 0;
};

}  // namespace tessera
