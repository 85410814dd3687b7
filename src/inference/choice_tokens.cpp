// SPDX-License-Identifier: Apache-2.0
#include "inference/choice_tokens.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/utf8.h"
#include "tokenizer/unicode.h"

namespace tessera {
namespace {

size_t bytes_without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character last = last_character(text);
    if (last.bytes == 0 || !is_white_space(last.code)) break;
    text.remove_suffix(last.bytes);
  }
  return text.size();
}

struct SplitChoice {
  std::vector<int32_t> context, text;
};

// The tokenizer's template puts its tokens before a context, as transformers does by default,
// unless it begins with them.
std::vector<int32_t> with_template(std::vector<int32_t> tokens, const TokenText& words) {
  const std::vector<int32_t> before = words.before_text();
  const auto [differs, end] = std::ranges::mismatch(before, tokens);
  if (differs != before.end()) tokens.insert(tokens.begin(), before.begin(), before.end());
  return tokens;
}

SplitChoice split_choice(const Choice& choice, const TokenText& words, const std::string& prefix) {
  const size_t kept = bytes_without_trailing_space(choice.context);
  const std::string context = prefix + choice.context.substr(0, kept);
  const std::string continuation = choice.context.substr(kept) + choice.continuation;
  if (context.empty()) {
    const std::vector<int32_t> before = words.before_text();
    return {before.empty() ? words.opening() : before, words.encode(continuation)};
  }
  const std::vector<int32_t> alone = words.encode(context);
  const std::vector<int32_t> whole = words.encode(context + continuation);
  SplitChoice found{with_template(alone, words), {}};
  if (whole.size() > alone.size())
    found.text.assign(whole.begin() + std::ssize(alone), whole.end());
  return found;
}

}  // namespace

ChoiceTokens choice_tokens(const std::vector<ChoiceQuestion>& questions, const TokenText& words,
                           const std::string& prefix, int64_t most) {
  ChoiceTokens tokens;
  for (const ChoiceQuestion& question : questions) {
    std::map<std::vector<int32_t>, size_t> contexts;  // of this question
    std::vector<ChoiceTokens::Place>& places = tokens.places.emplace_back();
    for (size_t i = 0; i < question.choices.size(); ++i) {
      SplitChoice found = split_choice(question.choices[i], words, prefix);
      const int64_t length = std::ssize(found.text);
      if (length == 0)
        throw user_error(
            "choice {} has no token of its own: its text is one with its context's end", i + 1)
            .at(question.place)
            .help("begin the choice with a space, or end the context at a word");
      if (length > most)
        throw user_error("choice {} has {} tokens, and the model sees {}", i + 1, length, most)
            .at(question.place)
            .help("shorten the choice, or leave out --seq");
      // The last token is scored, not read.
      const int64_t extra = std::ssize(found.context) + length - 1 - most;
      if (extra > 0) {
        found.context.erase(found.context.begin(), found.context.begin() + extra);
        ++tokens.cut;
      }
      tokens.texts += length;
      const auto [at, is_new] = contexts.try_emplace(found.context, tokens.all.size());
      if (is_new) {
        tokens.contexts += std::ssize(found.context);
        tokens.all.push_back({.context = std::move(found.context), .texts = {}});
      }
      places.push_back({at->second, tokens.all[at->second].texts.size()});
      tokens.all[at->second].texts.push_back(std::move(found.text));
    }
  }
  return tokens;
}

}  // namespace tessera
