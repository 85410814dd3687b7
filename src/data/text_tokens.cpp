// SPDX-License-Identifier: Apache-2.0
#include "data/text_tokens.h"

#include <filesystem>
#include <utility>

#include "core/error.h"
#include "data/tokens_ahead.h"
#include "files/digest.h"

namespace tessera {
namespace {

// Fewer documents are not split by document, or shuffled as such: a share of one book is none.
constexpr size_t kFewDocuments = 100;
constexpr int64_t kAheadShardBytes = 8'000'000;  // small, because the first step waits for one

struct TextChoice {
  bool shuffle, split;
};

std::shared_ptr<const TokenFolder> open_folder(const std::string& path, const DataConfig& data,
                                               TextChoice choice, const DataProgress& progress) {
  if (data.cache.empty())
    throw user_error("data.cache is empty")
        .at("data.cache")
        .help("name the folder that keeps tokens, such as token_cache");
  TokenFolderOptions options;
  options.documents = {.paths = {path},
                       .field = data.field,
                       .deduplicate = data.deduplicate,
                       .shuffle = choice.shuffle,
                       .held_out = choice.split ? data.held_out : 0,
                       .seed = static_cast<uint64_t>(data.seed)};
  if (progress)
    options.documents.progress = [&](int64_t done, int64_t all) { progress("reading", done, all); };
  options.tokenizer = data.tokenizer;
  options.document_end = data.end;
  options.shard_bytes = kAheadShardBytes;
  const std::string origin = TokenFolder::origin_of(options);
  const std::string name = digest_of(std::as_bytes(std::span(origin)));
  return std::make_shared<const TokenFolder>(std::filesystem::path(data.cache) / name, options);
}

size_t num_documents(const DocumentIndex& index) {
  return index.train.size() + index.held_out.size();
}

void require_both_sides(const std::string& path, const DocumentIndex& index) {
  if (!index.train.empty() && !index.held_out.empty()) return;
  throw user_error("of the {} document{} of {} {} would be held out, by their digests",
                   num_documents(index), num_documents(index) == 1 ? "" : "s", path,
                   index.held_out.size())
      .at("data.held_out")
      .help(
          "hold out the last tokens with data.split=tokens, or another share, or other data "
          "(data.held_out_path)");
}

std::string note_of(const std::string& path, const TokenFolder& folder, bool ahead) {
  const DocumentIndex& index = folder.index();
  std::string note = fmt::format("{}: {} document{}", path, num_documents(index),
                                 num_documents(index) == 1 ? "" : "s");
  if (!index.held_out.empty()) note += fmt::format(", {} of them held out", index.held_out.size());
  if (index.duplicates > 0) note += fmt::format(", {} copies left out", index.duplicates);
  return note + fmt::format("; tokens are made {} the step, in {}", ahead ? "ahead of" : "before",
                            folder.path().string());
}

std::unique_ptr<TokenSource> open_split(const std::shared_ptr<const TokenFolder>& folder,
                                        Split split, const DataConfig& data, bool ahead,
                                        const DataProgress& progress) {
  auto tokens = std::make_unique<TokensAhead>(
      folder, TokensAheadOptions{
                  .split = split, .ahead = data.ahead, .threads = static_cast<int>(data.threads)});
  if (!ahead)
    tokens->make_all([&](int64_t done, int64_t all) {
      if (progress) progress("tokens", done, all);
    });
  return tokens;
}

}  // namespace

TextTokens open_text_tokens(const std::string& path, const DataConfig& data, bool split,
                            bool best_fit, const DataProgress& progress) {
  const bool decides = data.shuffle == DataShuffle::Auto && !best_fit;
  DataShuffle shuffle = data.shuffle == DataShuffle::Auto
                            ? best_fit ? DataShuffle::Windows : DataShuffle::Documents
                            : data.shuffle;
  const auto splits = [&] {
    return split && data.held_out > 0 &&
           (data.split == DataSplit::Documents ||
            (data.split == DataSplit::Auto && shuffle != DataShuffle::Windows));
  };
  const auto open = [&] {
    return open_folder(path, data, {shuffle == DataShuffle::Documents, splits()}, progress);
  };
  std::shared_ptr<const TokenFolder> folder = open();
  if (decides && num_documents(folder->index()) < kFewDocuments) {
    shuffle = DataShuffle::Windows;
    folder = open();
  }
  const bool by_document = splits();
  if (by_document) require_both_sides(path, folder->index());
  const bool last_tokens = split && data.held_out > 0 && !by_document;
  const bool ahead = shuffle != DataShuffle::Windows && !best_fit && !last_tokens;
  TextTokens opened;
  opened.note = note_of(path, *folder, ahead);
  opened.shuffle = shuffle == DataShuffle::Documents ? DataShuffle::Blocks : shuffle;
  opened.train = open_split(folder, Split::Train, data, ahead, progress);
  if (by_document) opened.held_out = open_split(folder, Split::HeldOut, data, ahead, progress);
  return opened;
}

}  // namespace tessera
