// SPDX-License-Identifier: Apache-2.0
// Converts text to token shards (token_folder.h): all of it, from one call. After a restart only
// missing shards are written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "data/token_folder.h"

namespace tessera {

struct TokenizeOptions {
  TokenFolderOptions tokens = {};
  std::filesystem::path out = {};  // folder
  int threads = 0;
  // Receives the bytes of text done and the total, from one thread at a time: first of the pass
  // that finds the documents (`tokens.documents.progress`), then these.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
};

struct TokenizeResult {
  int64_t bytes = 0, tokens = 0, held_out_tokens = 0;
  int64_t documents = 0, held_out_documents = 0, duplicates = 0;
  int64_t shards = 0, kept_shards = 0;  // kept: already there
  int64_t vocabulary = 0;
  int32_t document_end = 0;
};

TokenizeResult tokenize_corpus(const TokenizeOptions& options);

}  // namespace tessera
