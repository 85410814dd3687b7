// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/text_cutter.h"

#include <fmt/format.h>

#include "core/utf8.h"
#include "tokenizer/unicode.h"

namespace tessera {

void TextCutter::cut_text(std::string_view text) {
  size_t done = 0;
  while (const auto found = tokenizer_.find_raw(text, done)) {
    cut_segment(text.substr(done, found->begin - done));
    token(found->id);
    done = found->end;
  }
  cut_segment(text.substr(done));
}

void TextCutter::cut_segment(std::string_view text) {
  while (!text.empty()) {
    const size_t valid = valid_prefix(text);
    if (valid > 0) cut_valid(text.substr(0, valid));
    text.remove_prefix(valid);
    const size_t invalid = invalid_prefix(text);
    if (invalid > 0) word(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
}

void TextCutter::cut_valid(std::string_view text) {
  if (tokenizer_.spec().composes) text = compose(text, composed_);
  size_t done = 0;
  while (const auto found = tokenizer_.find_normalized(text, done)) {
    cut_piece(text.substr(done, found->begin - done), 0);
    token(found->id);
    done = found->end;
  }
  cut_piece(text.substr(done), 0);
}

void TextCutter::cut_piece(std::string_view piece, size_t step) {
  if (piece.empty()) return;
  if (step == tokenizer_.rules().size()) return word(piece);
  const SplitStep& how = tokenizer_.spec().steps[step];
  std::string spaced;
  if (how.prefix_space && !piece.starts_with(' ')) {
    spaced = fmt::format(" {}", piece);
    piece = spaced;
  }
  const std::optional<SplitRule>& rule = tokenizer_.rules()[step];
  if (!rule) return cut_piece(piece, step + 1);
  size_t done = 0;
  for (size_t from = 0; from < piece.size();) {
    const auto match = rule->find(piece, from, scratch_);
    if (!match) break;
    if (how.keeps_rest) cut_piece(piece.substr(done, match->begin - done), step + 1);
    if (how.keeps_matches)
      cut_piece(piece.substr(match->begin, match->end - match->begin), step + 1);
    done = match->end;
    // An empty match also cuts; the search continues one character later.
    from = match->end > match->begin ? done : done + first_character(piece.substr(done)).bytes;
    if (done == piece.size()) return;
  }
  if (how.keeps_rest) cut_piece(piece.substr(done), step + 1);
}

}  // namespace tessera
