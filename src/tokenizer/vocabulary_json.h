// SPDX-License-Identifier: Apache-2.0
// The vocabulary, the merges and the added tokens of a tokenizer.json.
#pragma once

#include "files/json.h"
#include "tokenizer/tokenizer_spec.h"

namespace tessera {

void read_vocabulary(const Json& file, TokenizerSpec& spec);
// After the vocabulary, with whose ids they must agree.
void read_added_tokens(const Json& file, TokenizerSpec& spec);

// Fields of a tokenizer.json: the value, or a UserError that names the field.
const Json* find_field(const Json& object, const std::string& name);  // null if missing or null
const Json& object_field(const Json& object, const std::string& name);
std::span<const Json> list_field(const Json& object, const std::string& name);
std::string text_field(const Json& object, const std::string& name);
bool flag_field(const Json& object, const std::string& name, bool otherwise);

// Ids are bounded, because they index a table of tokens.
inline constexpr int64_t kMaxTokenId = (1 << 20) - 1;
int32_t token_id(const Json& json, const std::string& token);

}  // namespace tessera
