// SPDX-License-Identifier: Apache-2.0
// A text that comes in blocks, as pieces that can be turned into tokens one by one: it is cut where
// no splitting rule of GPT-2, Llama 3 or Qwen looks across, so the tokens are those of the whole.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer_spec.h"

namespace tessera {

inline constexpr size_t kWholeText = std::numeric_limits<size_t>::max();

// The first position from `at` on where a text may be cut: after a printable character and a
// newline, before a letter. Its size where there is none.
size_t next_text_cut(std::string_view text, size_t at);

// Whether a text has the tokens of its pieces: where its rules are those of GPT-2, Llama 3 or Qwen,
// and no added token holds a newline.
bool pieces_keep_tokens(const TokenizerSpec& spec);

class TextPieces {
 public:
  // `read` fills the span from its beginning, with nothing only at the end of the text.
  using Read = std::function<size_t(std::span<char>)>;
  // Pieces of at least `piece_bytes`, but the last; larger ones where there is no place to cut.
  TextPieces(Read read, size_t piece_bytes) : read_(std::move(read)), piece_bytes_(piece_bytes) {}

  // The next piece, and whether the text ends with it; an empty text is one empty piece.
  bool next(std::string& piece);

 private:
  bool read_block();

  Read read_;
  size_t piece_bytes_;
  std::string text_;  // read, and not given yet
};

}  // namespace tessera
