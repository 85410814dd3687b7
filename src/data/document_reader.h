// SPDX-License-Identifier: Apache-2.0
// Reads documents of an index one after another, a large one in pieces that become the same tokens
// (text_pieces.h). Any order will do where files are not packed; a packed file is unpacked from its
// beginning wherever the order goes back. Takes the memory of a piece. For one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/document_index.h"
#include "files/regular_file.h"
#include "files/text_reader.h"
#include "tokenizer/text_pieces.h"

namespace tessera {

struct DocumentPiece {
  std::string bytes;  // of a .jsonl file the line; empty where it was passed over
  int64_t num_bytes = 0;
  size_t file = 0;
  int64_t at = 0;    // its first byte in the text of the file
  bool ends = true;  // the document
};

class DocumentReader {
 public:
  // Both must outlive it. A document of more than `piece_bytes` comes in pieces, except a line.
  DocumentReader(const DocumentIndex& index, const std::vector<DocumentPlace>& documents,
                 size_t piece_bytes);

  // The next piece; false after the last. Where only its size is asked for, `bytes` stays empty,
  // and most often nothing is read.
  bool next(DocumentPiece& piece, bool only_size = false);

 private:
  size_t read(size_t file, int64_t at, std::span<char> to);
  size_t read_packed(size_t file, int64_t at, std::span<char> to);
  void begin_pieces(const DocumentPlace& document);

  const DocumentIndex& index_;
  const std::vector<DocumentPlace>& documents_;
  size_t piece_bytes_;
  size_t next_ = 0;  // document
  size_t file_ = 0;  // of the last one
  // A document that comes in pieces.
  std::unique_ptr<TextPieces> pieces_;
  int64_t given_ = 0, wanted_ = 0;  // bytes of it: given, and read
  // Files that stay open, by number.
  std::vector<std::optional<FileReader>> open_;
  size_t num_open_ = 0;
  std::unique_ptr<TextReader> unpacking_;
  size_t unpacking_file_ = 0;
};

}  // namespace tessera
