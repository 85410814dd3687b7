// SPDX-License-Identifier: Apache-2.0
// The chat template that comes with a tokenizer, in the files that transformers reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace tessera {

inline constexpr const char* kChatTemplateFile = "chat_template.jinja";

// `given`: a file, or "plain" or "marked" for one of ours. Empty: chat_template.jinja next to the
// tokenizer, else the one in tokenizer_config.json there; else "marked" where the tokenizer has its
// tokens, else "plain". `folder` may be empty, and `tokenizer` null: text is bytes then.
ChatTemplate read_chat_template(const std::filesystem::path& folder, const Tokenizer* tokenizer,
                                const std::string& given);

// The tokens that end a text by generation_config.json in the folder.
std::vector<int32_t> text_ends(const std::filesystem::path& folder);

}  // namespace tessera
