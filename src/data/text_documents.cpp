// SPDX-License-Identifier: Apache-2.0
#include "data/text_documents.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "files/folder.h"
#include "files/text_file.h"
#include "files/text_reader.h"
#include "files/unpacked_file.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

constexpr size_t kTextBlock = 4 << 20;

// A small file can unpack to more than the machine has.
int64_t half_of_memory() {
  const double installed = installed_memory_bytes();
  return installed > 0 ? static_cast<int64_t>(installed / 2) : std::numeric_limits<int64_t>::max();
}

}  // namespace

TextDocuments::TextDocuments(const std::string& path, std::string field)
    : field_(std::move(field)), most_held_bytes_(half_of_memory()) {
  const std::vector<std::filesystem::path> files = files_named(path);
  std::error_code ignored;
  if (files.empty() && !std::filesystem::exists(path, ignored))
    throw user_error("no file or folder {}", path)
        .at("data.path")
        .help("give a text file or a folder of them, or data.source=stories for built-in text");
  for (const std::filesystem::path& file : files) add(file);
  if (documents_.empty())
    throw user_error("{} holds no text", path)
        .at("data.path")
        .help("give a text file or a folder of them; hidden files are not read");
}

void TextDocuments::add(const std::filesystem::path& path) {
  MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (text.empty()) return;
  if (compression_of(text) != Compression::None) return add_packed(path);
  require_text(file.bytes(), path);
  if (is_jsonl(path)) {
    read_jsonl(text, {path, field_}, 0, [&](const std::string& document) { hold(document); });
    return;
  }
  documents_.push_back(text);
  files_.push_back(std::move(file));
}

void TextDocuments::add_packed(const std::filesystem::path& path) {
  TextReader reader(path);
  if (is_jsonl(path)) {
    while (const auto line = reader.line())
      read_jsonl(*line, {path, field_}, reader.line_begin(),
                 [&](const std::string& document) { hold(document); });
    return;
  }
  std::string text(kTextBlock, '\0');
  size_t filled = 0;
  while (const size_t count = reader.read(std::span(text).subspan(filled))) {
    filled += count;
    if (filled == text.size()) text.resize(2 * filled);
    if (held_bytes_ + static_cast<int64_t>(filled) > most_held_bytes_) break;  // refused by `hold`
  }
  text.resize(filled);
  hold(text);
}

void TextDocuments::hold(std::string_view text) {
  if (text.empty()) return;
  held_bytes_ += static_cast<int64_t>(text.size());
  if (held_bytes_ > most_held_bytes_)
    throw user_error("the texts take more than {} MB, half of this machine's memory",
                     most_held_bytes_ / 1'000'000)
        .at("data.path")
        .help("make tokens of them first: tessera tokenize; or unpack the files");
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < text.size())
    blocks_.emplace_back().reserve(std::max(kTextBlock, text.size()));
  std::vector<char>& block = blocks_.back();
  block.insert(block.end(), text.begin(), text.end());
  documents_.emplace_back(block.data() + block.size() - text.size(), text.size());
}

}  // namespace tessera
