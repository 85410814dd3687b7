// SPDX-License-Identifier: Apache-2.0
// Documents to token shards of a folder, in llm.c's format. Which text a shard holds depends only
// on the documents and `shard_bytes`; shards appear complete and in the order of their numbers, so
// that a restart writes only missing ones and others can read meanwhile. One of empty documents
// ends in .empty. At the end `complete.json` says how many there are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/document_index.h"
#include "tokenizer/tokenizer.h"

namespace tessera {

struct ShardJob {
  const DocumentIndex& index;
  const std::vector<DocumentPlace>& documents;  // of the index, in the order of the tokens
  const Tokenizer& tokenizer;
  const std::string& field;  // of the lines of .jsonl files
  int32_t document_end = 0;  // after each document
  bool around = false;       // also the special tokens around a text
  std::filesystem::path folder;
  int64_t shard_bytes = 64'000'000;  // of text
  int threads = 0;
  // Asked before each shard, with the tokens that are ready; it may wait, and false stops.
  std::function<bool(int64_t tokens)> goes_on = [](int64_t) { return true; };
  // After each shard, with its number, from one thread at a time.
  std::function<void(int64_t shard)> on_shard = [](int64_t) {};
  // Receives bytes of documents, from one thread at a time.
  std::function<void(int64_t)> progress = [](int64_t) {};
};

struct WrittenShards {
  int64_t tokens = 0, shards = 0;
  int64_t kept_shards = 0;  // that were there already
};

// Nothing where `goes_on` has stopped it.
std::optional<WrittenShards> write_shards(const ShardJob& job);

std::filesystem::path shard_path(const std::filesystem::path& folder, int64_t shard);
// 0: its documents are empty; nothing where it is missing or damaged.
std::optional<int64_t> tokens_of_shard(const std::filesystem::path& folder, int64_t shard);

// What complete.json says; nothing where not all were written.
std::optional<WrittenShards> find_complete(const std::filesystem::path& folder);
// The same, of a folder that still has all of its shards.
std::optional<WrittenShards> find_whole(const std::filesystem::path& folder);

}  // namespace tessera
