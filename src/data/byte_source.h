// SPDX-License-Identifier: Apache-2.0
// Text as bytes (vocabulary 256): files, or every file below a folder (text_documents.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_documents.h"
#include "data/token_source.h"

namespace tessera {

struct ByteSourceOptions {
  std::string path;  // file, folder or glob
  std::string field = "text";
  bool deduplicate = false;  // of documents with the same text only the first is read
  bool shuffle = false;      // the documents; otherwise they are in the order of the files
  double held_out = 0;       // expected share of the documents, which come last
  uint64_t seed = 1;
};

class ByteSource : public TokenSource {
 public:
  explicit ByteSource(const ByteSourceOptions& options);

  int64_t num_tokens() const override { return begins_.back(); }
  int64_t vocabulary_size() const override { return 256; }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;
  std::optional<int64_t> held_out_begin() const override { return held_out_begin_; }

 private:
  TextDocuments texts_;
  std::vector<std::string_view> documents_;  // in their order
  std::vector<int64_t> begins_{0};           // of each document, then the end of the last
  std::optional<int64_t> held_out_begin_;
};

}  // namespace tessera
