// SPDX-License-Identifier: Apache-2.0
#include "data/document_index.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "data/document_choice.h"
#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/folder.h"
#include "files/mapped_file.h"
#include "files/text_file.h"
#include "files/text_reader.h"
#include "files/unpacked_file.h"
#include "system/threads.h"
#include "tokenizer/corpus.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct Found {
  DocumentPlace place;  // within its file
  uint64_t digest = 0;
};

// What one part of a file holds.
struct FoundPart {
  std::vector<Found> documents;
  int64_t text_bytes = 0;  // of the part
};

class Finder {
 public:
  explicit Finder(const DocumentOptions& options)
      : options_(options), needs_digests_(options.deduplicate || options.held_out > 0) {}

  FoundPart find(const fs::path& path, const CorpusPart& part, const fs::path& copy) const {
    const MappedFile file(path);
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                                file.bytes().size());
    require_part(path, text.size(), part);
    if (compression_of(text) != Compression::None) return find_packed(path, copy);
    const auto begin = static_cast<size_t>(part.begin), end = static_cast<size_t>(part.end);
    FoundPart found{.documents = {}, .text_bytes = part.end - part.begin};
    if (is_jsonl(path)) {
      for (size_t at = begin; at < end;) {
        const size_t stop = std::min(end, text.find('\n', at));
        add_line(path, text.substr(at, stop - at), static_cast<int64_t>(at), found);
        at = stop + 1;
      }
    } else {
      found.documents.push_back(
          {{part.begin, part.end}, needs_digests_ ? document_digest(text) : 0});
    }
    return found;
  }

 private:
  FoundPart find_packed(const fs::path& path, const fs::path& copy) const {
    TextReader reader(path);
    FoundPart found;
    std::unique_ptr<AtomicFile> out;
    if (!copy.empty()) out = std::make_unique<AtomicFile>(copy);
    if (is_jsonl(path)) {
      while (const auto line = reader.line()) {
        add_line(path, *line, reader.line_begin(), found);
        if (!out) continue;
        out->write(*line);
        if (reader.text_position() > reader.line_begin() + static_cast<int64_t>(line->size()))
          out->write("\n");
      }
    } else {
      Digest digest;
      std::string block(1 << 20, '\0');
      while (const size_t count = reader.read(block)) {
        digest.add(std::as_bytes(std::span(block).first(count)));
        if (out) out->write(std::string_view(block).substr(0, count));
      }
      if (reader.text_position() > 0)
        found.documents.push_back({{0, reader.text_position()}, digest.number()});
    }
    if (out) out->commit();
    found.text_bytes = reader.text_position();
    return found;
  }

  void add_line(const fs::path& path, std::string_view line, int64_t at, FoundPart& found) const {
    if (is_blank(line)) return;
    uint64_t digest = 0;
    if (needs_digests_)
      read_jsonl(line, {path, options_.field}, at,
                 [&](const std::string& document) { digest = document_digest(document); });
    found.documents.push_back({{at, at + static_cast<int64_t>(line.size())}, digest});
  }

  const DocumentOptions& options_;
  bool needs_digests_;
};

// In the order of the files: drops copies, and splits.
void choose_documents(std::vector<FoundPart>& parts, const DocumentOptions& options,
                      const std::vector<int64_t>& file_begins,
                      const std::vector<CorpusPart>& places, DocumentIndex& index) {
  size_t all = 0;
  for (const FoundPart& part : parts) all += part.documents.size();
  DigestSet seen(options.deduplicate ? all : 0);
  const DocumentSplit split(options.seed, options.held_out);
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t begin = file_begins[places[i].file];
    for (const Found& found : parts[i].documents) {
      if (options.deduplicate && seen.add(found.digest)) {
        ++index.duplicates;
        continue;
      }
      (split.holds_out(found.digest) ? index.held_out : index.train)
          .push_back({begin + found.place.begin, begin + found.place.end});
    }
    parts[i].documents = {};
  }
}

}  // namespace

DocumentIndex index_documents(const DocumentOptions& options) {
  const Corpus corpus(options.paths, {.cuts_documents = false, .field = options.field});
  const Finder finder(options);
  const std::vector<CorpusPart>& places = corpus.parts();
  const bool copies = options.shuffle && !options.unpacked_to.empty();
  std::vector<FoundPart> parts(places.size());
  std::vector<bool> packed(corpus.files().size());
  for (size_t i = 0; i < corpus.files().size(); ++i) packed[i] = is_packed(corpus.files()[i]);
  const auto copy_of = [&](size_t file) {
    return copies && packed[file] ? options.unpacked_to / fmt::format("text_{:06}", file)
                                  : fs::path();
  };
  if (copies && std::find(packed.begin(), packed.end(), true) != packed.end())
    make_folder(options.unpacked_to);
  std::mutex mutex;
  int64_t done = 0;
  run_parts(places.size(), options.threads, [&](size_t i, size_t) {
    parts[i] = finder.find(corpus.files()[places[i].file], places[i], copy_of(places[i].file));
    const std::lock_guard lock(mutex);
    options.progress(done += places[i].end - places[i].begin, corpus.bytes());
  });

  DocumentIndex index;
  std::vector<int64_t> begins;
  int64_t end = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t file = places[i].file;
    if (begins.size() == file) {
      begins.push_back(end);
      const fs::path &path = corpus.files()[file], copy = copy_of(file);
      index.files.push_back({.path = copy.empty() ? path : copy,
                             .begin = end,
                             .end = end,
                             .lines = is_jsonl(path),
                             .packed = packed[file] && copy.empty()});
    }
    index.files.back().end = end += parts[i].text_bytes;
  }
  choose_documents(parts, options, begins, places, index);
  if (options.shuffle) {
    shuffle_documents(index.train, options.seed, kTrainOrder);
    shuffle_documents(index.held_out, options.seed, kHeldOutOrder);
  }
  return index;
}

}  // namespace tessera
