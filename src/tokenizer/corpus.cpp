// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/corpus.h"

#include <algorithm>

#include "core/error.h"
#include "files/folder.h"
#include "files/mapped_file.h"
#include "files/text_file.h"
#include "files/text_reader.h"
#include "files/unpacked_file.h"
#include "tokenizer/text_pieces.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

size_t next_line(std::string_view text, size_t at) {
  const size_t newline = text.find('\n', at - 1);
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

}  // namespace

void require_part(const fs::path& path, size_t bytes, const CorpusPart& part) {
  if (static_cast<int64_t>(bytes) >= part.end) return;
  throw user_error("{} had at least {} bytes and now has {}", path.string(), part.end, bytes)
      .help("do not change the files while they are read");
}

Corpus::Corpus(std::span<const std::string> paths, CorpusOptions options)
    : options_(std::move(options)) {
  for (const std::string& path : paths) {
    const std::vector<fs::path> files = files_named(path);
    std::error_code ignored;
    if (files.empty() && !fs::exists(path, ignored))
      throw user_error("no file or folder {}", path)
          .help("give text files, .jsonl files, folders of them, or a glob such as '*.jsonl.gz'");
    for (const fs::path& file : files) add_file(file);
  }
  if (bytes_ == 0)
    throw user_error("{} holds no text", paths.empty() ? "the list of paths" : paths.front())
        .help("give text files, .jsonl files or folders of them; hidden files are not read");
}

void Corpus::add_file(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view text = text_of(file);
  if (text.empty()) return;
  const bool packed = compression_of(text) != Compression::None;
  if (packed)
    TextReader checks_it(path);
  else
    require_text(file.bytes(), path);
  const bool lines = is_jsonl(path);
  for (size_t begin = 0; begin < text.size();) {
    const size_t wanted = begin + static_cast<size_t>(options_.part_bytes);
    const bool cuts = !packed && (lines || options_.cuts_documents) && wanted < text.size();
    const size_t end = !cuts   ? text.size()
                       : lines ? next_line(text, wanted)
                               : next_text_cut(text, wanted);
    parts_.push_back({files_.size(), static_cast<int64_t>(begin), static_cast<int64_t>(end),
                      end == text.size()});
    begin = end;
  }
  bytes_ += static_cast<int64_t>(text.size());
  files_.push_back(path);
}

void Corpus::read(const CorpusPart& part, const OnDocument& document) const {
  const fs::path& path = files_[part.file];
  const MappedFile file(path);
  const std::string_view whole = text_of(file);
  require_part(path, whole.size(), part);
  if (compression_of(whole) != Compression::None) return read_packed(path, document);
  const std::string_view text =
      whole.substr(static_cast<size_t>(part.begin), static_cast<size_t>(part.end - part.begin));
  if (!is_jsonl(path)) return document(text, part.ends_document);
  read_jsonl(text, {path, options_.field}, part.begin,
             [&](const std::string& each) { document(each, true); });
}

void Corpus::read_packed(const fs::path& path, const OnDocument& document) const {
  TextReader reader(path);
  if (!is_jsonl(path)) {
    TextPieces pieces(
        [&](std::span<char> to) { return reader.read(to); },
        options_.cuts_documents ? static_cast<size_t>(options_.part_bytes) : kWholeText);
    std::string piece;
    for (bool ends = false; !ends;) {
      ends = pieces.next(piece);
      document(piece, ends);
    }
    return;
  }
  while (const auto line = reader.line())
    read_jsonl(*line, {path, options_.field}, reader.line_begin(),
               [&](const std::string& each) { document(each, true); });
}

}  // namespace tessera
