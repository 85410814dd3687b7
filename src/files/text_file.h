// SPDX-License-Identifier: Apache-2.0
// Files of text: refusing what is none, and files of JSON documents, one a line.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Data that is given as text, and is none (compressed, columns, weights, images), would train a
// model on garbage, without a word. A UserError that says what the file looks like and what to do,
// where its first bytes are those of a known format or hold a zero byte, which no text has.
void require_text(std::span<const std::byte> bytes, const std::filesystem::path& path);

// Files of documents, one a line: {"text": "one document"}.
bool is_jsonl(const std::filesystem::path& path);  // by its ending

// Calls with the document of each line that is not empty. `lines` are whole lines of the file at
// `path`, from byte `at` on. A UserError names the byte of a line that is no document.
void read_jsonl(std::string_view lines, const std::filesystem::path& path, int64_t at,
                const std::function<void(std::string document)>& document);

}  // namespace tessera
