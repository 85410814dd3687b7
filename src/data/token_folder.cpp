// SPDX-License-Identifier: Apache-2.0
#include "data/token_folder.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/index_file.h"
#include "data/token_text.h"
#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/file_lock.h"
#include "files/folder.h"
#include "files/json.h"
#include "files/mapped_file.h"
#include "tokenizer/corpus.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char *kOriginFile = "tokens.json", *kIndexLock = "index.lock";

int32_t end_of(const Tokenizer& tokenizer, const std::string& name) {
  const auto id = name.empty() ? tokenizer.document_end() : tokenizer.find_added(name);
  if (id) return *id;
  std::string known;
  for (const AddedToken& token : tokenizer.spec().added)
    if (known.size() < 200) known += (known.empty() ? "" : ", ") + token.text;
  if (name.empty())
    throw UserError("the tokenizer has no known token that ends documents")
        .help(fmt::format("name one with --end or data.end: {}",
                          known.empty() ? "(it has none)" : known));
  throw user_error("the tokenizer has no added token {}", name)
      .help(fmt::format("use one of: {}", known));
}

fs::path copies_in(const fs::path& folder) { return folder / "unpacked"; }

}  // namespace

std::string TokenFolder::origin_of(const TokenFolderOptions& options) {
  const DocumentOptions& documents = options.documents;
  const MappedFile tokenizer(tokenizer_file_of(options.tokenizer));
  Json json{{"tokenizer", digest_of(tokenizer.bytes())},
            {"document_end", options.document_end},
            {"around", options.around},
            {"field", documents.field},
            {"deduplicate", documents.deduplicate},
            {"shuffle", documents.shuffle},
            {"held_out", documents.held_out},
            {"seed", documents.shuffle || documents.held_out > 0 ? documents.seed : 0},
            {"shard_bytes", options.shard_bytes}};
  const Corpus corpus(documents.paths, {.cuts_documents = false, .field = documents.field});
  for (const fs::path& file : corpus.files()) {
    std::error_code ignored;
    json["files"].push_back(
        {{"path", file.string()},
         {"bytes", fs::file_size(file, ignored)},
         {"changed", fs::last_write_time(file, ignored).time_since_epoch().count()}});
  }
  return sorted(json).dump(1) + "\n";
}

TokenFolder::TokenFolder(fs::path folder, TokenFolderOptions options)
    : folder_(std::move(folder)),
      options_(std::move(options)),
      origin_(origin_of(options_)),
      tokenizer_(read_tokenizer(options_.tokenizer)),
      document_end_(end_of(tokenizer_, options_.document_end)) {
  make_folder(folder_, "choose another with --out or data.cache");
  FileLock lock(folder_ / kIndexLock);
  lock.lock();  // until it is prepared, so that one process alone reads the texts
  prepare();
  std::optional<DocumentIndex> known = find_index(folder_ / "documents.index");
  index_ = known ? std::move(*known) : make_index();
}

void TokenFolder::prepare() const {
  const fs::path file = folder_ / kOriginFile;
  std::error_code error;
  if (fs::exists(file, error)) {
    const MappedFile old(file);
    const std::string_view text(reinterpret_cast<const char*>(old.bytes().data()),
                                old.bytes().size());
    if (text != origin_)
      throw user_error("{} holds tokens of other texts, another tokenizer or other settings",
                       folder_.string())
          .help("use another folder, or remove this one");
    return;
  }
  keep_tokenizer(options_.tokenizer, folder_);
  write_file_atomically(file, origin_);
}

DocumentIndex TokenFolder::make_index() const {
  DocumentOptions options = options_.documents;
  options.unpacked_to = copies_in(folder_);
  DocumentIndex index = index_documents(options);
  write_index(folder_ / "documents.index", index);
  return index;
}

fs::path TokenFolder::path_of(Split split) const {
  return split == Split::Train ? folder_ : folder_ / "held_out";
}

fs::path TokenFolder::lock_of(Split split) const { return path_of(split) / "write.lock"; }

// Copies that were removed when all was written: a shard is missing since.
void TokenFolder::restore_copies() const {
  FileLock lock(folder_ / kIndexLock);
  lock.lock();
  std::error_code ignored;
  const bool missing = std::ranges::any_of(index_.files, [&](const IndexedFile& file) {
    return file.path.parent_path() == copies_in(folder_) && !fs::exists(file.path, ignored);
  });
  if (!missing) return;
  const DocumentIndex again = make_index();
  if (again.train != index_.train || again.held_out != index_.held_out)
    throw user_error("the texts that {} was made of have changed", folder_.string())
        .help("use another folder, or remove this one");
}

int64_t TokenFolder::text_bytes(Split split) const {
  int64_t bytes = 0;
  for (const DocumentPlace& document : split == Split::Train ? index_.train : index_.held_out)
    bytes += document.end - document.begin;
  return bytes;
}

std::optional<WrittenShards> TokenFolder::write(Split split, const Writing& writing) const {
  const bool training = split == Split::Train;
  if (std::optional<WrittenShards> whole = find_whole(path_of(split))) {
    writing.progress(text_bytes(split));
    return whole;
  }
  restore_copies();
  auto written = write_shards({.index = index_,
                               .documents = training ? index_.train : index_.held_out,
                               .tokenizer = tokenizer_,
                               .field = options_.documents.field,
                               .document_end = document_end_,
                               .around = options_.around,
                               .folder = path_of(split),
                               .shard_bytes = options_.shard_bytes,
                               .threads = writing.threads,
                               .goes_on = writing.goes_on,
                               .on_shard = writing.on_shard,
                               .progress = writing.progress});
  const bool all_written = find_complete(path_of(Split::Train)) &&
                           (index_.held_out.empty() || find_complete(path_of(Split::HeldOut)));
  std::error_code ignored;
  if (written && all_written) fs::remove_all(copies_in(folder_), ignored);
  return written;
}

}  // namespace tessera
