// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/corpus.h"

#include <algorithm>

#include "core/error.h"
#include "files/folder.h"
#include "files/mapped_file.h"
#include "files/text_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The first position from `at` on where a part may end.
size_t next_cut(std::string_view text, size_t at, bool lines) {
  for (at = std::max<size_t>(at, 2); at < text.size(); ++at) {
    at = text.find('\n', at - 1);
    if (at == std::string_view::npos || ++at >= text.size()) break;
    const char before = text[at - 2];
    if (lines || (before > ' ' && before <= '~' && is_letter(text[at]))) return at;
  }
  return text.size();
}

}  // namespace

Corpus::Corpus(std::span<const std::string> paths, const CorpusOptions& options) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
      throw user_error("no file or folder {}", path)
          .help("give text files, .jsonl files or folders of them");
    if (!fs::is_directory(path, ignored))
      add_file(path, options);
    else
      for (const fs::path& file : files_below(path)) add_file(file, options);
  }
  if (bytes_ == 0)
    throw user_error("{} holds no text", paths.empty() ? "the list of paths" : paths.front())
        .help("give text files, .jsonl files or folders of them; hidden files are not read");
}

void Corpus::add_file(const fs::path& path, const CorpusOptions& options) {
  const MappedFile file(path);
  const std::string_view text = text_of(file);
  if (text.empty()) return;
  require_text(file.bytes(), path);
  const bool lines = is_jsonl(path);
  for (size_t begin = 0; begin < text.size();) {
    const size_t wanted = begin + static_cast<size_t>(options.part_bytes);
    const bool cuts = (lines || options.cuts_documents) && wanted < text.size();
    const size_t end = cuts ? next_cut(text, wanted, lines) : text.size();
    parts_.push_back({files_.size(), static_cast<int64_t>(begin), static_cast<int64_t>(end),
                      end == text.size()});
    begin = end;
  }
  bytes_ += static_cast<int64_t>(text.size());
  files_.push_back(path);
}

void Corpus::read(const CorpusPart& part,
                  const std::function<void(std::string_view, bool)>& document) const {
  const fs::path& path = files_[part.file];
  const MappedFile file(path);
  const std::string_view whole = text_of(file);
  if (static_cast<int64_t>(whole.size()) < part.end)
    throw user_error("{} had at least {} bytes and now has {}", path.string(), part.end,
                     whole.size())
        .help("do not change the files while they are read");
  const std::string_view text =
      whole.substr(static_cast<size_t>(part.begin), static_cast<size_t>(part.end - part.begin));
  if (!is_jsonl(path)) return document(text, part.ends_document);
  read_jsonl(text, path, part.begin, [&](const std::string& each) { document(each, true); });
}

}  // namespace tessera
