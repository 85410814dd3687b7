// SPDX-License-Identifier: Apache-2.0
// Reads tokenizer.json, as the tokenizers library writes it: byte-level BPE and the other parts
// that GPT-2, Llama 3 and Qwen use. An unsupported setting that would change tokens is a UserError.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"

namespace tessera {

// The file itself: a path may also be the folder that holds a tokenizer.json.
std::filesystem::path tokenizer_file_of(const std::filesystem::path& path);

Tokenizer read_tokenizer(const std::filesystem::path& path);
// The same from text; `origin` names it in errors.
Tokenizer parse_tokenizer(std::string_view json, const std::string& origin);

}  // namespace tessera
