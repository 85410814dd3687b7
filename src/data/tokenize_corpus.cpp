// SPDX-License-Identifier: Apache-2.0
#include "data/tokenize_corpus.h"

#include "core/error.h"
#include "files/file_lock.h"
#include "files/folder.h"

namespace tessera {

TokenizeResult tokenize_corpus(const TokenizeOptions& options) {
  const TokenFolder folder(options.out, options.tokens);
  const DocumentIndex& index = folder.index();
  const double share = options.tokens.documents.held_out;
  if (share > 0 && (index.train.empty() || index.held_out.empty()))
    throw user_error("of the {} document{} {} would be held out, by their digests",
                     index.train.size() + index.held_out.size(),
                     index.train.size() + index.held_out.size() == 1 ? "" : "s",
                     index.held_out.size())
        .at("--held-out")
        .help(
            "hold out another share, or train with data.held_out, which holds out the last "
            "tokens");
  const int64_t bytes = folder.text_bytes(Split::Train) + folder.text_bytes(Split::HeldOut);
  TokenizeResult result{.bytes = bytes,
                        .documents = static_cast<int64_t>(index.train.size()),
                        .held_out_documents = static_cast<int64_t>(index.held_out.size()),
                        .duplicates = index.duplicates,
                        .vocabulary = folder.tokenizer().vocabulary_size(),
                        .document_end = folder.document_end()};
  int64_t done = 0;
  const auto write = [&](Split split) {
    TokenFolder::Writing writing;
    writing.threads = options.threads;
    writing.progress = [&](int64_t more) { options.progress(done += more, bytes); };
    make_folder(folder.path_of(split));
    FileLock lock(folder.lock_of(split));
    if (!lock.try_lock())
      throw user_error("another process writes tokens to {}", folder.path_of(split).string())
          .help("wait for its end, or use another folder");
    const WrittenShards written = *folder.write(split, writing);
    result.shards += written.shards;
    result.kept_shards += written.kept_shards;
    return written.tokens;
  };
  result.tokens = write(Split::Train);
  if (share > 0) result.held_out_tokens = write(Split::HeldOut);
  if (result.tokens + result.held_out_tokens == 0)
    throw user_error("{} holds no text", options.tokens.documents.paths.front())
        .help("all of its documents are empty");
  return result;
}

}  // namespace tessera
