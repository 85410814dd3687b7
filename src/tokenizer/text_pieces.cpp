// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/text_pieces.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

size_t next_text_cut(std::string_view text, size_t at) {
  for (at = std::max<size_t>(at, 2); at < text.size(); ++at) {
    at = text.find('\n', at - 1);
    if (at == std::string_view::npos || ++at >= text.size()) break;
    const char before = text[at - 2];
    if (before > ' ' && before <= '~' && is_ascii_letter(text[at])) return at;
  }
  return text.size();
}

bool pieces_keep_tokens(const TokenizerSpec& spec) {
  constexpr std::array<std::string_view, 3> kKnownRules{kGpt2Rule, kLlama3Rule, kQwenRule};
  const auto is_known = [&](const SplitStep& step) {
    return !step.literal && !step.prefix_space && step.keeps_matches && step.keeps_rest &&
           std::ranges::find(kKnownRules, step.pattern) != kKnownRules.end();
  };
  const auto cuts_nothing = [](const SplitStep& step) {
    return step.pattern.empty() && !step.prefix_space;
  };
  return std::ranges::any_of(spec.steps, is_known) &&
         std::ranges::all_of(
             spec.steps,
             [&](const SplitStep& step) { return is_known(step) || cuts_nothing(step); }) &&
         std::ranges::none_of(spec.added, [](const AddedToken& token) {
           return token.text.find('\n') != std::string::npos;
         });
}

bool TextPieces::read_block() {
  const size_t old = text_.size();
  text_.resize(old + kBlockBytes);
  const size_t count = read_(std::span(text_).subspan(old));
  text_.resize(old + count);
  return count > 0;
}

bool TextPieces::next(std::string& piece) {
  for (size_t wanted = piece_bytes_;;) {
    // Of what has been read the last byte is never cut off: it is not known yet what follows it.
    const size_t cut = text_.size() > wanted ? next_text_cut(text_, wanted) : text_.size();
    if (cut < text_.size()) {
      piece.assign(text_, 0, cut);
      text_.erase(0, cut);
      return false;
    }
    if (text_.size() > wanted) wanted = text_.size() - 1;  // before it there is no cut
    if (!read_block()) break;
  }
  piece = std::move(text_);
  text_.clear();
  return true;
}

}  // namespace tessera
