// SPDX-License-Identifier: Apache-2.0
#include "data/text_documents.h"

#include "core/error.h"
#include "files/folder.h"
#include "files/text_file.h"

namespace tessera {

namespace fs = std::filesystem;

TextDocuments::TextDocuments(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw user_error("no file or folder {}", path.string())
        .at("data.path")
        .help("give a text file or a folder of them, or data.source=stories for built-in text");
  }
  const bool folder = fs::is_directory(path, ignored);
  for (fs::path& file : folder ? files_below(path) : std::vector<fs::path>{path})
    add(MappedFile(std::move(file)));
  if (documents_.empty())
    throw user_error("{} holds no text", path.string())
        .at("data.path")
        .help("give a text file or a folder of them; hidden files are not read");
}

void TextDocuments::add(MappedFile file) {
  require_text(file.bytes(), file.path());
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (text.empty()) return;
  if (!is_jsonl(file.path())) {
    documents_.push_back(text);
    files_.push_back(std::move(file));
    return;
  }
  std::vector<char>& texts = texts_.emplace_back();
  texts.reserve(text.size());  // what is decoded is never longer, so views stay where they are
  const std::string field = "text";
  read_jsonl(text, {file.path(), field}, 0, [&](const std::string& document) {
    if (document.empty()) return;
    texts.insert(texts.end(), document.begin(), document.end());
    documents_.emplace_back(texts.data() + texts.size() - document.size(), document.size());
  });
}

}  // namespace tessera
