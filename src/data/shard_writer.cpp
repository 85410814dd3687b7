// SPDX-License-Identifier: Apache-2.0
#include "data/shard_writer.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "data/document_reader.h"
#include "data/token_shard.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/json.h"
#include "files/small_file.h"
#include "files/text_file.h"
#include "system/threads.h"
#include "tokenizer/encoder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 8 << 20;  // of a large document
constexpr int64_t kUnitBytes = 1 << 20;  // of text that a thread takes at a time
constexpr const char* kCompleteFile = "complete.json";

// Where a splitting rule or tokens around a text could see the cuts, documents stay whole.
size_t piece_bytes_of(const ShardJob& job) {
  return job.around || !pieces_keep_tokens(job.tokenizer.spec()) ? kWholeText : kPieceBytes;
}

fs::path empty_shard_path(const fs::path& folder, int64_t shard) {
  return shard_path(folder, shard).replace_extension("empty");
}

// Threads take units of text in their order, and their tokens are put together in that order.
class ShardWriter {
 public:
  explicit ShardWriter(const ShardJob& job)
      : job_(job),
        threads_(threads_or_cores(job.threads)),
        reader_(job.index, job.documents, piece_bytes_of(job)) {}

  std::optional<WrittenShards> run() {
    const auto count = static_cast<size_t>(threads_);
    run_parts(count, threads_, [&](size_t, size_t) { work(); });
    if (stopped_) return std::nullopt;
    if (!open_.empty()) write_open(shard_);
    const Json json{{"shards", written_.shards}, {"tokens", written_.tokens}};
    write_file_atomically(job_.folder / kCompleteFile, json.dump() + "\n");
    return written_;
  }

 private:
  struct Unit {
    int64_t number = 0, shard = 0, bytes = 0;
    std::vector<DocumentPiece> pieces;
    bool ends_shard = false;
  };
  struct Tokens {
    int64_t shard = 0, bytes = 0;
    std::vector<int32_t> ids;
    bool ends_shard = false;
    std::optional<int64_t> there = {};  // tokens of a shard that is there already
  };

  void work() {
    try {
      Encoder encoder(job_.tokenizer);
      Unit unit;
      while (take(unit)) {
        Tokens tokens{
            .shard = unit.shard, .bytes = unit.bytes, .ids = {}, .ends_shard = unit.ends_shard};
        for (const DocumentPiece& piece : unit.pieces) encode(encoder, piece, tokens.ids);
        put(unit.number, std::move(tokens));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failed_ = true;
      changed_.notify_all();
      throw;
    }
  }

  void encode(Encoder& encoder, const DocumentPiece& piece, std::vector<int32_t>& ids) const {
    const auto add = [&](std::string_view text) {
      if (text.empty()) return;
      const TokenizerSpec& spec = job_.tokenizer.spec();
      if (job_.around) ids.insert(ids.end(), spec.before.begin(), spec.before.end());
      encoder.encode(text, ids);
      if (job_.around) ids.insert(ids.end(), spec.after.begin(), spec.after.end());
      if (piece.ends) ids.push_back(job_.document_end);
    };
    const IndexedFile& file = job_.index.files[piece.file];
    if (!file.lines) return add(piece.bytes);
    read_jsonl(piece.bytes, {file.path, job_.field}, piece.at,
               [&](const std::string& document) { add(document); });
  }

  // The next unit of a shard that is not there; false at the end.
  bool take(Unit& unit) {
    const std::lock_guard reading(reading_);
    {
      std::unique_lock lock(mutex_);
      // Tokens that wait for an earlier unit take memory.
      changed_.wait(lock, [&] { return failed_ || next_unit_ - next_put_ < 4 * threads_; });
      if (failed_) return false;
    }
    while (!ended_ && shard_bytes_ == 0 && !begin_shard()) {
    }
    if (ended_) return false;
    unit = {.number = next_unit_, .shard = shard_, .bytes = 0, .pieces = {}};
    while (unit.bytes < kUnitBytes && !unit.ends_shard) {
      DocumentPiece& piece = unit.pieces.emplace_back();
      if (!reader_.next(piece)) {
        unit.pieces.pop_back();
        ended_ = true;
        break;
      }
      unit.bytes += piece.num_bytes;
      unit.ends_shard = (shard_bytes_ += piece.num_bytes) >= job_.shard_bytes;
    }
    if (unit.ends_shard) {
      shard_bytes_ = 0;
      ++shard_;
    }
    if (unit.pieces.empty()) return false;
    ++next_unit_;
    return true;
  }

  // Whether the next shard is to be written; one that is there is passed over.
  bool begin_shard() {
    int64_t tokens = 0;
    {
      const std::lock_guard lock(mutex_);
      tokens = written_.tokens;
    }
    if (!job_.goes_on(tokens)) {
      stopped_ = ended_ = true;
      return false;
    }
    const std::optional<int64_t> there = tokens_of_shard(job_.folder, shard_);
    if (!there) return true;
    int64_t bytes = 0;
    DocumentPiece piece;
    while (bytes < job_.shard_bytes && !ended_) {
      if (reader_.next(piece, true))
        bytes += piece.num_bytes;
      else
        ended_ = true;
    }
    put(next_unit_++, {.shard = shard_++, .bytes = bytes, .ids = {}, .there = there});
    return false;
  }

  // Nothing is put after a failure: what was being written then would be written twice.
  void put(int64_t number, Tokens tokens) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    early_.emplace(number, std::move(tokens));
    try {
      for (auto next = early_.find(next_put_); next != early_.end();
           next = early_.find(++next_put_)) {
        finish(next->second);
        early_.erase(next);
      }
    } catch (...) {
      failed_ = true;
      throw;
    }
    changed_.notify_all();
  }

  void finish(const Tokens& ready) {
    open_.insert(open_.end(), ready.ids.begin(), ready.ids.end());
    job_.progress(ready.bytes);
    if (ready.ends_shard) write_open(ready.shard);
    if (!ready.there) return;
    written_.kept_shards += *ready.there > 0;
    add_shard(ready.shard, *ready.there);
  }

  void write_open(int64_t shard) {
    if (open_.empty())
      write_file_atomically(empty_shard_path(job_.folder, shard), "");
    else
      write_token_shard(shard_path(job_.folder, shard), open_, job_.tokenizer.vocabulary_size());
    const auto tokens = static_cast<int64_t>(open_.size());
    open_.clear();
    add_shard(shard, tokens);
  }

  void add_shard(int64_t shard, int64_t tokens) {
    written_.tokens += tokens;
    written_.shards += tokens > 0;
    job_.on_shard(shard);
  }

  const ShardJob& job_;
  int threads_;

  std::mutex reading_;  // guards what follows
  DocumentReader reader_;
  int64_t next_unit_ = 0, shard_ = 0, shard_bytes_ = 0;
  bool ended_ = false, stopped_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<int64_t, Tokens> early_;  // by the unit's number
  int64_t next_put_ = 0;
  std::vector<int32_t> open_;  // tokens of the shard that is not complete
  WrittenShards written_;
  bool failed_ = false;
};

}  // namespace

std::optional<WrittenShards> write_shards(const ShardJob& job) {
  make_folder(job.folder);
  return ShardWriter(job).run();
}

fs::path shard_path(const fs::path& folder, int64_t shard) {
  return folder / fmt::format("tokens_{:06}.bin", shard);
}

std::optional<int64_t> tokens_of_shard(const fs::path& folder, int64_t shard) {
  std::error_code ignored;
  if (fs::exists(empty_shard_path(folder, shard), ignored)) return 0;
  const fs::path path = shard_path(folder, shard);
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    return TokenShard(path).num_tokens();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::optional<WrittenShards> find_complete(const fs::path& folder) {
  const auto text = find_small_file(folder / kCompleteFile);
  const Json json = text ? parse_json(*text) : Json();
  const Json *shards = json.find("shards"), *tokens = json.find("tokens");
  if (!shards || !tokens || !shards->integer() || !tokens->integer()) return std::nullopt;
  return WrittenShards{.tokens = *tokens->integer(), .shards = *shards->integer()};
}

std::optional<WrittenShards> find_whole(const fs::path& folder) {
  std::optional<WrittenShards> all = find_complete(folder);
  if (!all) return std::nullopt;
  int64_t tokens = 0, shard = 0;
  while (const auto more = tokens_of_shard(folder, shard++)) tokens += *more;
  all->kept_shards = all->shards;
  return tokens == all->tokens ? all : std::nullopt;
}

}  // namespace tessera
