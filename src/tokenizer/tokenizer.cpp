// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "tokenizer/unicode.h"

namespace tessera {
namespace {

// The added tokens that are matched in the original text, or in the normalized one.
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
  int32_t largest = -1;
  const auto see = [&](int32_t id) { largest = std::max(largest, id); };
  for (const BytesToken& token : spec_.tokens) see(token.id);
  for (const BytesToken& token : spec_.other_tokens) see(token.id);
  for (const AddedToken& token : spec_.added) see(token.id);
  bytes_.resize(static_cast<size_t>(largest) + 1);
  const auto put = [&](int32_t id, const std::string& bytes) {
    bytes_[static_cast<size_t>(id)] = bytes;
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

}  // namespace tessera
