// SPDX-License-Identifier: Apache-2.0
// A finite sequence of tokens, made of consecutive documents. Reading is const and may happen on
// any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace tessera {

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual int64_t num_tokens() const = 0;
  // Whether there are tokens up to `end`: then `end`, else their number. Of a source that is still
  // being made (tokens_ahead.h) both calls wait until they know.
  virtual int64_t tokens_up_to(int64_t end) const { return std::min(end, num_tokens()); }
  virtual int64_t vocabulary_size() const = 0;  // every token is below it

  // Tokens [begin, begin + tokens.size()); `opens_document[i]` is 1 where tokens[i] is the first of
  // a document, else 0. Both spans have one size, or `opens_document` is empty.
  virtual void read(int64_t begin, std::span<int32_t> tokens,
                    std::span<uint8_t> opens_document) const = 0;

  // Of the same tokens: 0 where one is given and never predicted, as what a user says, else 1.
  virtual void read_learned(int64_t /*begin*/, std::span<uint8_t> learned) const {
    std::ranges::fill(learned, uint8_t{1});
  }

  // First of the held-out tokens, if the source itself holds some out: it begins a document.
  virtual std::optional<int64_t> held_out_begin() const { return {}; }
};

}  // namespace tessera
