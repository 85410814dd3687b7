// SPDX-License-Identifier: Apache-2.0
// The .idx file of a Megatron .bin (MMapIndexedDataset): the width of a token, the lengths of
// sequences, and which sequences make a document. It is fully checked when it is opened and then
// read in place, so it takes no memory.
#pragma once

#include <cstdint>
#include <filesystem>

#include "files/mapped_file.h"

namespace tessera {

class MegatronIndex {
 public:
  explicit MegatronIndex(const std::filesystem::path& path);

  int64_t token_bytes() const { return token_bytes_; }  // 1, 2, 4 or 8
  bool is_signed() const { return is_signed_; }
  int64_t num_tokens() const { return num_tokens_; }
  int64_t num_documents() const { return num_documents_; }
  // First token of a document, which may be empty; of num_documents(): the end of all tokens.
  int64_t document_begin(int64_t document) const;
  // The first document that begins at a token or after it; num_documents() if there is none.
  int64_t document_from(int64_t token) const;

 private:
  void read_header();
  void check_sequences();
  void check_documents() const;
  template <typename T>
  T number_at(int64_t byte) const;

  MappedFile file_;
  int64_t token_bytes_ = 0, num_tokens_ = 0;
  bool is_signed_ = false;
  int64_t num_sequences_ = 0, num_documents_ = 0;
  int64_t pointers_at_ = 0, documents_at_ = 0;  // bytes in the file
};

}  // namespace tessera
