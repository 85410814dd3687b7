// SPDX-License-Identifier: Apache-2.0
// Text as bytes (vocabulary 256): a file, or every file below a folder (text_documents.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/text_documents.h"
#include "data/token_source.h"

namespace tessera {

class ByteSource : public TokenSource {
 public:
  explicit ByteSource(const std::filesystem::path& path);

  int64_t num_tokens() const override { return begins_.back(); }
  int64_t vocabulary_size() const override { return 256; }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;

 private:
  TextDocuments documents_;
  std::vector<int64_t> begins_{0};  // of each document, then the end of the last
};

}  // namespace tessera
