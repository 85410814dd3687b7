// SPDX-License-Identifier: Apache-2.0
// Tokens of text that are made while a run reads them: a thread writes the shards of a token
// folder, some tokens ahead of what has been read; readers wait for what is not there yet. The
// shards are those of `tessera tokenize`, and stay. Of several processes with one folder whoever
// has the lock writes; the others read what appears, and one of them continues when it ends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include "data/bin_source.h"
#include "data/token_folder.h"
#include "data/token_source.h"

namespace tessera {

struct TokensAheadOptions {
  Split split = Split::Train;
  int64_t ahead = 16 << 20;  // tokens
  int threads = 1;
};

class TokensAhead : public TokenSource {
 public:
  // Nothing is made before the first tokens are asked for.
  TokensAhead(std::shared_ptr<const TokenFolder> folder, TokensAheadOptions options);
  ~TokensAhead() override;
  TokensAhead(const TokensAhead&) = delete;
  TokensAhead& operator=(const TokensAhead&) = delete;

  int64_t num_tokens() const override;  // waits until all are made
  int64_t tokens_up_to(int64_t end) const override;
  int64_t vocabulary_size() const override { return folder_->tokenizer().vocabulary_size(); }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;

  int64_t made() const;  // tokens so far
  // Makes all of them here and now. Receives bytes of text done, and of all.
  void make_all(const std::function<void(int64_t, int64_t)>& progress);

 private:
  void make();
  bool write();  // false: stopped
  bool wait_for_readers(int64_t tokens);
  bool wait_for_writer();
  void look_for_shards();
  void require_all();
  int64_t next_shard() const;
  void add_shard(int64_t shard);

  std::shared_ptr<const TokenFolder> folder_;
  TokensAheadOptions options_;
  std::filesystem::path path_;

  mutable std::shared_mutex shards_mutex_;  // guards shards_
  BinSource shards_;

  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable changed_;
  mutable int64_t wanted_ = 0;  // the most that was asked for
  int64_t made_ = 0;
  int64_t next_shard_ = 0;  // number of the first that has not come yet
  bool complete_ = false, stopping_ = false;
  std::exception_ptr error_;
  mutable std::thread thread_;

  std::function<void(int64_t)> progress_ = [](int64_t) {};  // of `make_all`
};

}  // namespace tessera
