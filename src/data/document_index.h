// SPDX-License-Identifier: Apache-2.0
// Which documents texts hold, which of them are read, in which order, and which are held out
// (document_choice.h): found in one pass over the files. 16 bytes per document; no text is kept.
// The same files and options give the same index on every machine and with any number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tessera {

struct DocumentOptions {
  std::vector<std::string> paths = {};  // text files, .jsonl files, folders, globs
  std::string field = "text";           // of the lines of .jsonl files
  bool deduplicate = false;             // of documents with the same text only the first is read
  bool shuffle = false;  // all documents; otherwise they are in the order of the files
  double held_out = 0;   // expected share of the documents
  uint64_t seed = 1;     // of the shuffle and of the split
  // Where files that are packed are unpacked to, if documents are to be read in another order than
  // that of the files.
  std::filesystem::path unpacked_to = {};
  int threads = 0;
  // Receives bytes of the files read, and of all, from one thread at a time.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
};

// Bytes of the texts of all files, one file after another. Of a .jsonl file the line.
struct DocumentPlace {
  int64_t begin = 0, end = 0;

  bool operator==(const DocumentPlace&) const = default;
};

struct IndexedFile {
  std::filesystem::path path;  // of the file that is read: perhaps an unpacked copy
  int64_t begin = 0, end = 0;  // of its text, among the texts of all
  bool lines = false;          // a document per line
  bool packed = false;
};

struct DocumentIndex {
  std::vector<IndexedFile> files;
  std::vector<DocumentPlace> train, held_out;  // in the order in which they are read
  int64_t duplicates = 0;                      // left out

  int64_t text_bytes() const { return files.empty() ? 0 : files.back().end; }
};

DocumentIndex index_documents(const DocumentOptions& options);

}  // namespace tessera
