// SPDX-License-Identifier: Apache-2.0
#include "data/bin_source.h"

#include <glob.h>

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

std::vector<std::string> files_of(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status != 0 || files.empty())
    throw user_error("no token file matches {}", pattern)
        .at("data.path")
        .help(
            "give a .bin file in the format of llm.c or Megatron, or a glob such as "
            "'data/train_*.bin'");
  return files;
}

}  // namespace

BinSource::BinSource(BinSourceOptions options) : options_(std::move(options)) {
  if (options_.pattern.empty()) return;
  for (const std::string& path : files_of(options_.pattern)) add_shard(path);
}

void BinSource::add_shard(const std::filesystem::path& path) {
  shards_.emplace_back(path);
  begins_.push_back(begins_.back() + shards_.back().num_tokens());
}

size_t BinSource::shard_of(int64_t position) const {
  return static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), position) -
                             begins_.begin() - 1);
}

bool BinSource::ends_document(int64_t position) const {
  const size_t shard = shard_of(position);
  if (shards_[shard].knows_documents()) return position + 1 == begins_[shard + 1];
  return options_.document_end &&
         shards_[shard].token_at(position - begins_[shard]) == *options_.document_end;
}

void BinSource::read_shard(size_t shard, int64_t offset, std::span<int32_t> tokens) const {
  // And the one before them, which says whether the first opens a document.
  shards_[shard].require_intact(std::max<int64_t>(0, offset - 1),
                                offset + static_cast<int64_t>(tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t position = offset + static_cast<int64_t>(i);
    const int64_t token = shards_[shard].token_at(position);
    if (token < 0 || token >= options_.vocabulary)
      throw user_error("token {} at position {} of {} is not below the vocabulary of {}", token,
                       position, shards_[shard].path().string(), options_.vocabulary)
          .at("data.path")
          .help(
              "use a model with the vocabulary that these tokens were made with "
              "(model.vocabulary)");
    tokens[i] = static_cast<int32_t>(token);
  }
}

void BinSource::mark_documents(size_t shard, int64_t begin,
                               std::span<uint8_t> opens_document) const {
  std::fill(opens_document.begin(), opens_document.end(), uint8_t{0});
  if (shards_[shard].knows_documents())
    return shards_[shard].mark_documents(begin - begins_[shard], opens_document);
  for (size_t i = 0; i < opens_document.size(); ++i) {
    const int64_t position = begin + static_cast<int64_t>(i);
    opens_document[i] = position == 0 || ends_document(position - 1) ? 1 : 0;
  }
}

void BinSource::read(int64_t begin, std::span<int32_t> tokens,
                     std::span<uint8_t> opens_document) const {
  const int64_t end = begin + static_cast<int64_t>(tokens.size());
  TESSERA_CHECK(begin >= 0 && end <= num_tokens(), "tokens {} to {} of {}", begin, end,
                num_tokens());
  for (int64_t at = begin; at < end;) {
    const size_t shard = shard_of(at);
    const auto first = static_cast<size_t>(at - begin);
    const auto count = static_cast<size_t>(std::min(end, begins_[shard + 1]) - at);
    read_shard(shard, at - begins_[shard], tokens.subspan(first, count));
    if (!opens_document.empty()) mark_documents(shard, at, opens_document.subspan(first, count));
    at += static_cast<int64_t>(count);
  }
}

}  // namespace tessera
