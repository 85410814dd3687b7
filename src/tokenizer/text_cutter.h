// SPDX-License-Identifier: Apache-2.0
// Cuts a text into added tokens and words, as a tokenizer says. Bytes that are not UTF-8 are
// separate words. One per thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/split_rule.h"
#include "tokenizer/tokenizer.h"

namespace tessera {

class TextCutter {
 public:
  explicit TextCutter(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}  // must outlive it
  virtual ~TextCutter() = default;

 protected:
  void cut_text(std::string_view text);
  // Called in the order of the text; a word is never empty.
  virtual void word(std::string_view word) = 0;
  virtual void token(int32_t id) = 0;

  const Tokenizer& tokenizer_;

 private:
  void cut_segment(std::string_view text);
  void cut_valid(std::string_view text);
  void cut_piece(std::string_view piece, size_t step);

  SplitScratch scratch_;
  std::string composed_;
};

}  // namespace tessera
