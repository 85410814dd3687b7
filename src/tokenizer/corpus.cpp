// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/corpus.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "core/error.h"
#include "files/bounded_json.h"
#include "files/files_below.h"
#include "files/mapped_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 32;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool is_lines(const fs::path& path) { return path.extension() == ".jsonl"; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The first place at or behind `at` where a part may end.
size_t next_cut(std::string_view text, size_t at, bool lines) {
  for (at = std::max<size_t>(at, 2); at < text.size(); ++at) {
    at = text.find('\n', at - 1);
    if (at == std::string_view::npos || ++at >= text.size()) break;
    const char before = text[at - 2];
    if (lines || (before > ' ' && before <= '~' && is_letter(text[at]))) return at;
  }
  return text.size();
}

std::string document_of(std::string_view line, const fs::path& path, int64_t at) {
  nlohmann::json json;
  std::string wrong = parse_bounded_json(line, kMaxDepth, json);
  if (wrong.empty() && !json.is_object()) wrong = "is no object";
  if (wrong.empty() && !(json.contains("text") && json["text"].is_string()))
    wrong = "has no text under \"text\"";
  if (!wrong.empty())
    throw user_error("the line at byte {} of {} {}", at, path.string(), wrong)
        .help("each line of a .jsonl file is an object such as {\"text\": \"one document\"}");
  return std::move(json["text"].get_ref<std::string&>());
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
  const bool lines = is_lines(path);
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
    throw user_error("{} had {} bytes or more and now has {}", path.string(), part.end,
                     whole.size())
        .help("leave the files alone while they are read");
  std::string_view text =
      whole.substr(static_cast<size_t>(part.begin), static_cast<size_t>(part.end - part.begin));
  if (!is_lines(path)) return document(text, part.ends_document);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const auto at = static_cast<int64_t>(line.data() - whole.data());
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      document(document_of(line, path, at), true);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

}  // namespace tessera
