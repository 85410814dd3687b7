// SPDX-License-Identifier: Apache-2.0
#include "data/tokens_ahead.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "files/file_lock.h"
#include "files/folder.h"
#include "files/small_file.h"
#include "system/random_name.h"
#include "system/threads.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kAllTokens = std::numeric_limits<int64_t>::max();
constexpr std::chrono::milliseconds kLooksEvery{50};  // at what another process does

// What a process that waits asks of the one that writes: a number of tokens in a file. Best effort:
// without it the writer goes on as far ahead of its own steps as it is told to.
int64_t asked_tokens(const fs::path& folder) {
  const std::optional<std::string> text = find_small_file(folder / "asked");
  int64_t tokens = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), tokens);
  return tokens;
}

void ask_for(const fs::path& folder, int64_t tokens) {
  if (asked_tokens(folder) >= tokens) return;
  std::error_code ignored;
  const fs::path own = folder / ("asked_" + random_name());
  std::ofstream(own) << tokens;
  fs::rename(own, folder / "asked", ignored);
}

}  // namespace

TokensAhead::TokensAhead(std::shared_ptr<const TokenFolder> folder, TokensAheadOptions options)
    : folder_(std::move(folder)),
      options_(options),
      path_(folder_->path_of(options.split)),
      shards_({.pattern = {},
               .vocabulary = folder_->tokenizer().vocabulary_size(),
               .document_end = folder_->document_end()}) {
  make_folder(path_, "choose another with data.cache");
  look_for_shards();
}

TokensAhead::~TokensAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

int64_t TokensAhead::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

int64_t TokensAhead::num_tokens() const { return tokens_up_to(kAllTokens); }

int64_t TokensAhead::tokens_up_to(int64_t end) const {
  std::unique_lock lock(mutex_);
  wanted_ = std::max(wanted_, end);
  if (!complete_ && !error_ && !thread_.joinable() && made_ - options_.ahead < end)
    thread_ = start_thread([self = const_cast<TokensAhead*>(this)] { self->make(); });
  changed_.notify_all();
  changed_.wait(lock, [&] { return made_ >= end || complete_ || error_; });
  if (made_ >= end) return end;
  if (!complete_) std::rethrow_exception(error_);
  return made_;
}

void TokensAhead::read(int64_t begin, std::span<int32_t> tokens,
                       std::span<uint8_t> opens_document) const {
  tokens_up_to(begin + static_cast<int64_t>(tokens.size()));
  const std::shared_lock lock(shards_mutex_);
  shards_.read(begin, tokens, opens_document);
}

void TokensAhead::make_all(const std::function<void(int64_t, int64_t)>& progress) {
  {
    const std::lock_guard lock(mutex_);
    if (complete_) return;
    wanted_ = kAllTokens;
  }
  options_.threads = 0;
  const int64_t all = folder_->text_bytes(options_.split);
  progress_ = [&, done = int64_t{0}](int64_t bytes) mutable { progress(done += bytes, all); };
  make();
  progress_ = [](int64_t) {};
  if (error_) std::rethrow_exception(error_);
}

void TokensAhead::make() {
  std::exception_ptr error;
  try {
    FileLock writing(folder_->lock_of(options_.split));
    while (!writing.try_lock())
      if (!wait_for_writer()) return;
    std::error_code ignored;
    fs::remove(path_ / "asked", ignored);
    look_for_shards();
    if (write()) require_all();
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
  }
  changed_.notify_all();
}

bool TokensAhead::write() {
  {
    const std::lock_guard lock(mutex_);
    if (complete_) return true;
  }
  TokenFolder::Writing writing;
  writing.threads = options_.threads;
  writing.goes_on = [this](int64_t tokens) { return wait_for_readers(tokens); };
  writing.on_shard = [this](int64_t shard) { add_shard(shard); };
  writing.progress = progress_;
  return folder_->write(options_.split, writing).has_value();
}

bool TokensAhead::wait_for_readers(int64_t tokens) {
  std::unique_lock lock(mutex_);
  while (!stopping_ && tokens - options_.ahead >= wanted_) {
    changed_.wait_for(lock, kLooksEvery);
    lock.unlock();
    const int64_t asked = asked_tokens(path_);
    lock.lock();
    wanted_ = std::max(wanted_, asked);
  }
  return !stopping_;
}

// Another process has the lock. False: nothing is left to do.
bool TokensAhead::wait_for_writer() {
  look_for_shards();
  std::unique_lock lock(mutex_);
  if (complete_ || stopping_) return false;
  const int64_t wanted = wanted_;
  const bool waits = made_ < wanted;
  changed_.wait_for(lock, kLooksEvery);
  lock.unlock();
  if (waits) ask_for(path_, wanted);
  return true;
}

// What others have made, up to a shard that is missing or damaged: it will be written again.
void TokensAhead::look_for_shards() {
  const std::optional<WrittenShards> all = find_complete(path_);
  for (;;) {
    const int64_t next = next_shard();
    if (!tokens_of_shard(path_, next)) break;
    add_shard(next);
  }
  {
    const std::lock_guard lock(mutex_);
    complete_ = all && all->tokens == made_;
  }
  changed_.notify_all();
}

// After all were written.
void TokensAhead::require_all() {
  look_for_shards();
  const std::lock_guard lock(mutex_);
  if (!complete_)
    throw user_error("shards of {} have changed while they were written", path_.string())
        .help("let nothing else write there, and start again");
}

int64_t TokensAhead::next_shard() const {
  const std::lock_guard lock(mutex_);
  return next_shard_;
}

void TokensAhead::add_shard(int64_t shard) {
  if (shard < next_shard()) return;
  const std::filesystem::path path = shard_path(path_, shard);
  int64_t made = 0;
  {
    const std::unique_lock lock(shards_mutex_);
    std::error_code ignored;
    if (fs::exists(path, ignored)) shards_.add_shard(path);  // else its documents are empty
    made = shards_.num_tokens();
  }
  {
    const std::lock_guard lock(mutex_);
    next_shard_ = shard + 1;
    made_ = made;
  }
  changed_.notify_all();
}

}  // namespace tessera
