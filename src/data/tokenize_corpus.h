// SPDX-License-Identifier: Apache-2.0
// Converts text to token shards in llm.c's format. Which text a shard holds depends only on the
// files and the options, and a shard appears only when it is complete: after a restart only missing
// shards are written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tessera {

struct TokenizeOptions {
  std::vector<std::string> paths;  // text files, .jsonl files, folders
  std::filesystem::path tokenizer;
  std::filesystem::path out;         // folder
  std::string document_end;          // text of an added token; empty: the tokenizer's own
  bool around = false;               // also the special tokens around a text
  int64_t shard_bytes = 64'000'000;  // of text
  int threads = 0;
  // Receives the bytes of text done and the total, from one thread at a time.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
};

struct TokenizeResult {
  int64_t bytes = 0, tokens = 0;
  int64_t shards = 0, kept_shards = 0;  // kept: already there
  int64_t vocabulary = 0;
  int32_t document_end = 0;
};

TokenizeResult tokenize_corpus(const TokenizeOptions& options);

}  // namespace tessera
