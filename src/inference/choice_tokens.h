// SPDX-License-Identifier: Apache-2.0
// The tokens of questions, split into context and continuation as lm-evaluation-harness splits
// them: white space at the end of a context moves to the continuation, both are encoded as one
// text, and what is too long is cut from the left.
#pragma once

#include <string>
#include <vector>

#include "data/token_text.h"
#include "inference/choice_question.h"
#include "inference/likelihood_scorer.h"

namespace tessera {

struct ChoiceTokens {
  std::vector<Continuations> all;
  // By question, by choice: which of `all`, and which of its texts.
  struct Place {
    size_t context, text;
  };
  std::vector<std::vector<Place>> places;
  int64_t cut = 0;       // choices whose context was too long
  int64_t contexts = 0;  // tokens of all contexts together, each counted once
  int64_t texts = 0;     // tokens of all continuations
};

// `prefix` is a text before every context. The special tokens of the tokenizer's template come
// before all; where there are none, an empty context is the token that begins a document. A model
// sees `most` tokens.
ChoiceTokens choice_tokens(const std::vector<ChoiceQuestion>& questions, const TokenText& words,
                           const std::string& prefix, int64_t most);

}  // namespace tessera
