// SPDX-License-Identifier: Apache-2.0
// Text to tokens, on one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/text_cutter.h"
#include "tokenizer/word_cache.h"

namespace tessera {

class Encoder : private TextCutter {
 public:
  explicit Encoder(const Tokenizer& tokenizer) : TextCutter(tokenizer) {}  // which must outlive it

  // Appends the tokens of a text, without the special tokens around it.
  void encode(std::string_view text, std::vector<int32_t>& ids);
  std::vector<int32_t> encode(std::string_view text);

 private:
  void word(std::string_view word) override;
  void token(int32_t id) override { ids_->push_back(id); }

  std::vector<int32_t>* ids_ = nullptr;
  BpeModel::Scratch scratch_;
  WordCache cache_;
};

}  // namespace tessera
