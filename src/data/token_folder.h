// SPDX-License-Identifier: Apache-2.0
// A folder of tokens made from text: shards of the training documents, those of the held-out ones
// in `held_out`, the tokenizer, and what they all depend on. Made by `tessera tokenize`, or ahead
// of the step by a run (tokens_ahead.h): the same folder with the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/document_index.h"
#include "data/shard_writer.h"
#include "data/token_sampler.h"
#include "tokenizer/tokenizer.h"

namespace tessera {

struct TokenFolderOptions {
  DocumentOptions documents = {};
  std::filesystem::path tokenizer = {};  // file or folder
  std::string document_end = {};         // text of an added token; empty: the tokenizer's own
  bool around = false;                   // also the special tokens around a text
  int64_t shard_bytes = 64'000'000;      // of text
};

class TokenFolder {
 public:
  // Everything that the tokens depend on, as text. A UserError where there is no text.
  static std::string origin_of(const TokenFolderOptions& options);

  // Creates the folder, or checks that it has the same origin, which is a UserError otherwise; then
  // finds the documents, unless the folder has their index.
  TokenFolder(std::filesystem::path folder, TokenFolderOptions options);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path path_of(Split split) const;
  std::filesystem::path lock_of(Split split) const;  // of those that write its shards
  const Tokenizer& tokenizer() const { return tokenizer_; }
  int32_t document_end() const { return document_end_; }
  const DocumentIndex& index() const { return index_; }
  int64_t text_bytes(Split split) const;  // of its documents

  struct Writing {
    int threads = 0;
    // As those of a ShardJob.
    std::function<bool(int64_t tokens)> goes_on = [](int64_t) { return true; };
    std::function<void(int64_t)> on_shard = [](int64_t) {};
    std::function<void(int64_t)> progress = [](int64_t) {};
  };
  // Writes the shards that are missing; nothing where it was stopped. When nothing is missing any
  // more, copies of unpacked texts are removed. By one process at a time, which has the lock.
  std::optional<WrittenShards> write(Split split, const Writing& writing) const;

 private:
  void prepare() const;
  DocumentIndex make_index() const;
  void restore_copies() const;

  std::filesystem::path folder_;
  TokenFolderOptions options_;
  std::string origin_;
  Tokenizer tokenizer_;
  int32_t document_end_;
  DocumentIndex index_;
};

}  // namespace tessera
