// SPDX-License-Identifier: Apache-2.0
// How conversations become tokens in a run: its tokenizer, or bytes, and its chat template.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "chat/chat_template.h"
#include "config/config.h"
#include "tokenizer/tokenizer.h"

namespace tessera {

struct ChatFormat {
  std::optional<Tokenizer> tokenizer;  // none: tokens are bytes
  ChatTemplate chat;

  const Tokenizer* tokens() const { return tokenizer ? &*tokenizer : nullptr; }
  int64_t vocabulary_size() const { return tokenizer ? tokenizer->vocabulary_size() : 256; }
};

// Of data.tokenizer and data.chat_template.
ChatFormat open_chat_format(const DataConfig& data);

// data.chat_roles; a UserError where it names none.
std::set<std::string> chat_roles_of(const DataConfig& data);

}  // namespace tessera
