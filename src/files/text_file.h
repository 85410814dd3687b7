// SPDX-License-Identifier: Apache-2.0
// Files of text: refusing what is none, and files of JSON documents, one a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Data that is given as text, and is none (columns, weights, images), would train a model on
// garbage, without a word. A UserError that says what the file looks like and what to do, where its
// first bytes are those of a known format or hold a zero byte, which no text has. The bytes are
// those of the text, unpacked where the file is packed.
void require_text(std::span<const std::byte> bytes, const std::filesystem::path& path);
inline constexpr size_t kTextLook = 1 << 20;  // bytes that it looks at

// Files of documents, one a line: {"text": "one document"}. By the name, with or without .gz or
// .zst: *.jsonl, *.ndjson, and packed *.json, as C4's.
bool is_jsonl(const std::filesystem::path& path);
bool is_blank(std::string_view line);

struct JsonLines {
  const std::filesystem::path& path;
  const std::string& field;  // that holds the document
};

// Calls with the document of each line that is not blank. `text` is whole lines of the file, from
// byte `at` of its text on. A UserError names the byte of a line that is no document.
void read_jsonl(std::string_view text, const JsonLines& lines, int64_t at,
                const std::function<void(std::string document)>& document);

}  // namespace tessera
