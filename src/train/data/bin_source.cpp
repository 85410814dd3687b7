// SPDX-License-Identifier: Apache-2.0
#include "train/data/bin_source.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int64_t kHeaderWords = 256;
constexpr int64_t kHeaderBytes = kHeaderWords * static_cast<int64_t>(sizeof(int32_t));

struct Layout {
  int32_t magic, version;
  int64_t token_bytes;
};
constexpr std::array<Layout, 3> kLayouts{{{20240520, 1, 2}, {20240520, 2, 4}, {20240801, 7, 4}}};

std::vector<std::string> files_of(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status != 0 || files.empty())
    throw user_error("no token file matches {}", pattern)
        .at("data.path")
        .help("give a .bin file in the llm.c layout, or a glob such as 'data/train_*.bin'");
  return files;
}

struct Header {
  int64_t token_bytes;
  int64_t tokens;
};

Header read_header(const MappedFile& file) {
  const std::string path = file.path().string();
  const auto bytes = static_cast<int64_t>(file.bytes().size());
  const char* advice = "give a .bin file in the llm.c layout; for plain text use data.source=text";
  if (bytes < kHeaderBytes)
    throw user_error("{} has {} bytes, a token file begins with {}", path, bytes, kHeaderBytes)
        .at("data.path")
        .help(advice);
  std::array<int32_t, 3> words{};
  std::memcpy(words.data(), file.bytes().data(), sizeof(words));
  const auto [magic, version, tokens] = words;
  const auto layout = std::find_if(kLayouts.begin(), kLayouts.end(), [&](const Layout& known) {
    return known.magic == words[0] && known.version == words[1];
  });
  if (layout == kLayouts.end())
    throw user_error(
        "{} has magic {} version {}, known are 20240520 versions 1 and 2 and 20240801 version 7",
        path, magic, version)
        .at("data.path")
        .help(advice);
  if (tokens <= 0)
    throw user_error("{} says that it holds {} tokens", path, tokens)
        .at("data.path")
        .help("make the file again with at least one token");
  const int64_t expected = kHeaderBytes + int64_t{tokens} * layout->token_bytes;
  if (bytes != expected)
    throw user_error("{} has {} bytes, its {} tokens need {}", path, bytes, tokens, expected)
        .at("data.path")
        .help("the file is truncated or damaged: copy or make it again");
  return {layout->token_bytes, tokens};
}

}  // namespace

BinSource::BinSource(BinSourceOptions options) : options_(std::move(options)) {
  for (const std::string& path : files_of(options_.pattern)) {
    MappedFile file(path);
    const Header header = read_header(file);
    shards_.push_back({std::move(file), header.token_bytes});
    begins_.push_back(begins_.back() + header.tokens);
  }
}

size_t BinSource::shard_of(int64_t position) const {
  return static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), position) -
                             begins_.begin() - 1);
}

uint32_t BinSource::token_at(size_t shard, int64_t offset) const {
  const Shard& from = shards_[shard];
  const std::byte* data = from.file.bytes().data() + kHeaderBytes + offset * from.token_bytes;
  uint32_t token = 0;  // little-endian, as the file
  std::memcpy(&token, data, static_cast<size_t>(from.token_bytes));
  return token;
}

void BinSource::read(int64_t begin, std::span<int32_t> tokens,
                     std::span<uint8_t> opens_document) const {
  const int64_t end = begin + static_cast<int64_t>(tokens.size());
  TESSERA_CHECK(begin >= 0 && end <= num_tokens(), "tokens {} to {} of {}", begin, end,
                num_tokens());
  size_t shard = shard_of(begin);
  bool opens = begin == 0;
  if (begin > 0 && options_.document_end) {
    const size_t before = shard_of(begin - 1);
    opens = token_at(before, begin - 1 - begins_[before]) ==
            static_cast<uint32_t>(*options_.document_end);
  }
  for (int64_t at = begin; at < end; ++at) {
    if (at == begins_[shard + 1]) ++shard;
    const uint32_t token = token_at(shard, at - begins_[shard]);
    if (token >= options_.vocabulary)
      throw user_error("token {} at position {} of {} is not below the vocabulary of {}", token,
                       at - begins_[shard], shards_[shard].file.path().string(),
                       options_.vocabulary)
          .at("data.path")
          .help(
              "use a model with the vocabulary that these tokens were made with "
              "(model.vocabulary)");
    const auto i = static_cast<size_t>(at - begin);
    tokens[i] = static_cast<int32_t>(token);
    if (!opens_document.empty()) opens_document[i] = opens ? 1 : 0;
    opens = options_.document_end && tokens[i] == *options_.document_end;
  }
}

}  // namespace tessera
