// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tessera {
namespace {

// The added tokens that are looked for in the text as given, or in the normalized one.
AddedTokenFinder finder_of(const TokenizerSpec& spec, bool normalized) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : spec.added) {
    if (token.normalized != normalized) continue;
    tokens.push_back(token);
    std::string composed;
    if (normalized && spec.composes) tokens.back().text = compose(token.text, composed);
  }
  return AddedTokenFinder(std::move(tokens));
}

std::vector<std::optional<SplitRule>> rules_of(const TokenizerSpec& spec) {
  std::vector<std::optional<SplitRule>> rules;
  for (const SplitStep& step : spec.steps) {
    rules.emplace_back();
    if (!step.pattern.empty()) rules.back().emplace(step.pattern, step.literal);
  }
  return rules;
}

}  // namespace

Tokenizer::Tokenizer(TokenizerSpec spec)
    : spec_(std::move(spec)),
      model_(spec_.tokens, spec_.merges, spec_.ignore_merges),
      raw_finder_(finder_of(spec_, false)),
      normalized_finder_(finder_of(spec_, true)),
      rules_(rules_of(spec_)) {
  const auto put = [&](int32_t id, const std::string& bytes) {
    const auto index = static_cast<size_t>(id);
    if (index >= bytes_.size()) bytes_.resize(index + 1);
    bytes_[index] = bytes;
  };
  for (const BytesToken& token : spec_.tokens) put(token.id, token.bytes);
  for (const BytesToken& token : spec_.other_tokens) put(token.id, token.bytes);
  for (const AddedToken& token : spec_.added) put(token.id, token.text);
}

std::string_view Tokenizer::bytes_of(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  return index < bytes_.size() ? std::string_view(bytes_[index]) : std::string_view();
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += bytes_of(id);
  return text;
}

std::optional<int32_t> Tokenizer::find_added(std::string_view text) const {
  for (const AddedToken& token : spec_.added)
    if (token.text == text) return token.id;
  return std::nullopt;
}

std::optional<int32_t> Tokenizer::document_end() const {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>"})
    if (const std::optional<int32_t> id = find_added(name)) return id;
  return std::nullopt;
}

std::vector<int32_t> Encoder::encode(std::string_view text) {
  std::vector<int32_t> ids;
  encode(text, ids);
  return ids;
}

void Encoder::encode(std::string_view text, std::vector<int32_t>& ids) {
  ids_ = &ids;
  size_t done = 0;
  while (const auto token = tokenizer_.raw_finder_.find(text, done)) {
    encode_segment(text.substr(done, token->begin - done));
    ids.push_back(token->id);
    done = token->end;
  }
  encode_segment(text.substr(done));
}

void Encoder::encode_segment(std::string_view text) {
  while (!text.empty()) {
    const size_t valid = valid_prefix(text);
    if (valid > 0) encode_valid(text.substr(0, valid));
    text.remove_prefix(valid);
    const size_t invalid = invalid_prefix(text);
    if (invalid > 0) encode_word(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
}

void Encoder::encode_valid(std::string_view text) {
  if (tokenizer_.spec_.composes) text = compose(text, composed_);
  size_t done = 0;
  while (const auto token = tokenizer_.normalized_finder_.find(text, done)) {
    cut(text.substr(done, token->begin - done), 0);
    ids_->push_back(token->id);
    done = token->end;
  }
  cut(text.substr(done), 0);
}

void Encoder::cut(std::string_view piece, size_t step) {
  if (piece.empty()) return;
  if (step == tokenizer_.rules_.size()) return encode_word(piece);
  const SplitStep& how = tokenizer_.spec_.steps[step];
  std::string spaced;
  if (how.prefix_space && !piece.starts_with(' ')) {
    spaced = fmt::format(" {}", piece);
    piece = spaced;
  }
  const std::optional<SplitRule>& rule = tokenizer_.rules_[step];
  if (!rule) return cut(piece, step + 1);
  size_t done = 0;
  for (size_t from = 0; from < piece.size();) {
    const auto match = rule->find(piece, from, split_scratch_);
    if (!match) break;
    if (how.keeps_rest) cut(piece.substr(done, match->begin - done), step + 1);
    if (how.keeps_matches) cut(piece.substr(match->begin, match->end - match->begin), step + 1);
    done = match->end;
    // An empty match cuts as well; the next is looked for a character later.
    from = match->end > match->begin ? done : done + first_character(piece.substr(done)).bytes;
    if (done == piece.size()) return;
  }
  if (how.keeps_rest) cut(piece.substr(done), step + 1);
}

void Encoder::encode_word(std::string_view word) {
  if (const auto known = cache_.find(word)) {
    ids_->insert(ids_->end(), known->begin(), known->end());
    return;
  }
  const size_t begin = ids_->size();
  tokenizer_.model_.encode_word(word, *ids_, bpe_scratch_);
  cache_.add(word, std::span(*ids_).subspan(begin));
}

}  // namespace tessera
