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
    FileLock writing(path_ / "write.lock");
    while (!writing.try_lock())
      if (!wait_for_writer()) return;
    std::error_code ignored;
    fs::remove(path_ / "asked", ignored);
    look_for_shards();
    if (write()) look_for_shards();
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
  writing.on_shard = [this](const fs::path& path) { add_shard(path); };
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

// What others have made, up to a shard that is missing or damaged.
void TokensAhead::look_for_shards() {
  const bool complete = find_complete(path_).has_value();
  std::vector<fs::path> shards;
  for (const fs::path& path : list_folder(path_))
    if (path.extension() == ".bin") shards.push_back(path);
  std::sort(shards.begin(), shards.end());
  for (const fs::path& path : shards) try {
      add_shard(path);
    } catch (const UserError&) {
      if (complete) throw;
      break;  // it will be written again
    }
  {
    const std::lock_guard lock(mutex_);
    complete_ = complete;
  }
  changed_.notify_all();
}

void TokensAhead::add_shard(const fs::path& path) {
  {
    const std::lock_guard lock(mutex_);
    if (path.filename().string() <= newest_) return;
  }
  int64_t made = 0;
  {
    const std::unique_lock lock(shards_mutex_);
    shards_.add_shard(path);
    made = shards_.num_tokens();
  }
  {
    const std::lock_guard lock(mutex_);
    newest_ = path.filename().string();
    made_ = made;
  }
  changed_.notify_all();
}

}  // namespace tessera
