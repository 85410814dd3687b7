// SPDX-License-Identifier: Apache-2.0
// Text to tokens, on one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/text_cutter.h"

namespace tessera {

// A cache of the tokens of words, because few different words make up most of a text. It has a
// fixed size: when it is full, it is cleared.
class WordCache {
 public:
  WordCache();

  // The tokens of a word, valid until the next `add`.
  std::optional<std::span<const int32_t>> find(std::string_view word) const;
  void add(std::string_view word, std::span<const int32_t> ids);  // one that `find` has not found

 private:
  struct Slot {
    uint32_t check = 0;  // other bits of the hash
    uint32_t word_begin = 0, ids_begin = 0;
    uint16_t word_bytes = 0, num_ids = 0;  // no bytes: free
  };
  size_t slot_of(std::string_view word, uint64_t hash) const;

  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::string words_;
  std::vector<int32_t> ids_;
};

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
