// SPDX-License-Identifier: Apache-2.0
// The vocabulary, the merges and the added tokens of a tokenizer.json.
#pragma once

#include "files/json.h"
#include "tokenizer/tokenizer_spec.h"

namespace tessera {

void read_vocabulary(const Json& file, TokenizerSpec& spec);
// After the vocabulary, with whose ids they must agree.
void read_added_tokens(const Json& file, TokenizerSpec& spec);

}  // namespace tessera
