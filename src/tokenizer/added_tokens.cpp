// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <functional>

#include "core/utf8.h"
#include "tokenizer/unicode.h"

namespace tessera {
namespace {

bool stands_alone(std::string_view before, std::string_view after) {
  return !is_word_character(last_character(before).code) &&
         !is_word_character(first_character(after).code);
}

size_t spaces_before(std::string_view text) {
  size_t bytes = 0;
  for (;;) {
    const Utf8Character last = last_character(text.substr(0, text.size() - bytes));
    if (last.bytes == 0 || !is_white_space(last.code)) return bytes;
    bytes += last.bytes;
  }
}

size_t spaces_behind(std::string_view text) {
  size_t bytes = 0;
  for (;;) {
    const Utf8Character first = first_character(text.substr(bytes));
    if (first.bytes == 0 || !is_white_space(first.code)) return bytes;
    bytes += first.bytes;
  }
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (const AddedToken& token : tokens_) {
    by_text_[token.text] = &token;
    lengths_[static_cast<unsigned char>(token.text[0])].push_back(token.text.size());
  }
  for (std::vector<size_t>& lengths : lengths_) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text) const {
  for (const size_t length : lengths_[static_cast<unsigned char>(text[0])]) {
    if (length > text.size()) continue;
    const auto found = by_text_.find(text.substr(0, length));
    if (found != by_text_.end()) return found->second;
  }
  return nullptr;
}

std::optional<AddedTokenFinder::Match> AddedTokenFinder::find(std::string_view text,
                                                              size_t from) const {
  if (tokens_.empty()) return std::nullopt;
  for (size_t at = from; at < text.size(); ++at) {
    if (lengths_[static_cast<unsigned char>(text[at])].empty()) continue;
    const AddedToken* token = longest_at(text.substr(at));
    if (!token) continue;
    size_t begin = at, end = at + token->text.size();
    if (token->single_word && !stands_alone(text.substr(0, begin), text.substr(end))) {
      at = end - 1;
      continue;
    }
    if (token->left_strip) begin -= spaces_before(text.substr(from, begin - from));
    if (token->right_strip) end += spaces_behind(text.substr(end));
    return Match{begin, end, token->id};
  }
  return std::nullopt;
}

}  // namespace tessera
