// SPDX-License-Identifier: Apache-2.0
#include "data/token_shard.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.h"
#include "files/atomic_file.h"

namespace tessera {
namespace {

constexpr int64_t kHeaderBytes = 256 * static_cast<int64_t>(sizeof(int32_t));

struct Layout {
  int32_t magic, version;
  int64_t token_bytes;
};
constexpr std::array<Layout, 3> kLayouts{{{20240520, 1, 2}, {20240520, 2, 4}, {20240801, 7, 4}}};

template <typename... Args>
UserError complaint(fmt::format_string<Args...> format, Args&&... args) {
  return user_error(format, std::forward<Args>(args)...).at("data.path");
}

std::filesystem::path index_of(std::filesystem::path path) { return path.replace_extension("idx"); }

}  // namespace

TokenShard::TokenShard(const std::filesystem::path& path) : file_(path) {
  if (path.extension() == ".idx")
    throw complaint("{} is an index, not tokens", path.string())
        .help("give the .bin file next to it");
  std::error_code ignored;
  if (std::filesystem::exists(index_of(path), ignored))
    read_megatron();
  else
    read_llm_c();
}

void TokenShard::read_llm_c() {
  const std::string path = file_.path().string();
  const auto bytes = static_cast<int64_t>(file_.bytes().size());
  const char* advice =
      "give a .bin file in llm.c's format, or in Megatron's with its .idx next to it; for plain "
      "text "
      "use data.source=text";
  if (bytes < kHeaderBytes)
    throw complaint("{} has {} bytes, but a token file begins with {}", path, bytes, kHeaderBytes)
        .help(advice);
  TokenHeader words{};
  std::memcpy(words.data(), file_.bytes().data(), sizeof(words));
  const int32_t magic = words[0], version = words[1], tokens = words[2];
  const auto layout = std::find_if(kLayouts.begin(), kLayouts.end(), [&](const Layout& known) {
    return known.magic == words[0] && known.version == words[1];
  });
  if (layout == kLayouts.end())
    throw complaint(
        "{} has magic {} version {}; supported are 20240520 versions 1 and 2 and 20240801 version "
        "7",
        path, magic, version)
        .help(advice);
  if (tokens <= 0)
    throw complaint("{} says that it holds {} tokens", path, tokens)
        .help("create the file again with at least one token");
  const int64_t expected = kHeaderBytes + int64_t{tokens} * layout->token_bytes;
  if (bytes != expected)
    throw complaint("{} has {} bytes, but its {} tokens need {}", path, bytes, tokens, expected)
        .help("the file is truncated or damaged: copy or create it again");
  header_bytes_ = kHeaderBytes;
  token_bytes_ = layout->token_bytes;
  num_tokens_ = tokens;
  sums_ = BlockSums::find(words, file_.bytes().subspan(sizeof(words)));
}

void TokenShard::read_megatron() {
  const MegatronIndex& index = index_.emplace(index_of(file_.path()));
  token_bytes_ = index.token_bytes();
  is_signed_ = index.is_signed();
  num_tokens_ = index.num_tokens();
  const auto bytes = static_cast<int64_t>(file_.bytes().size());
  if (bytes != num_tokens_ * token_bytes_)
    throw complaint("{} has {} bytes, but the {} tokens of its index need {}", path().string(),
                    bytes, num_tokens_, num_tokens_ * token_bytes_)
        .help("the files are truncated, or do not belong together: copy or create them again");
}

int64_t TokenShard::token_at(int64_t position) const {
  const std::byte* data = file_.bytes().data() + header_bytes_ + position * token_bytes_;
  uint64_t bits = 0;  // little-endian, as the file
  std::memcpy(&bits, data, static_cast<size_t>(token_bytes_));
  if (!is_signed_) return static_cast<int64_t>(bits);
  const auto above = static_cast<int>(64 - 8 * token_bytes_);
  return static_cast<int64_t>(bits << above) >> above;
}

void TokenShard::require_intact(int64_t begin, int64_t end) const {
  if (sums_)
    sums_->require(static_cast<size_t>(begin * token_bytes_),
                   static_cast<size_t>(end * token_bytes_), path());
}

void TokenShard::mark_documents(int64_t begin, std::span<uint8_t> opens_document) const {
  if (!index_) return;
  const auto end = begin + static_cast<int64_t>(opens_document.size());
  for (int64_t i = index_->document_from(begin); i < index_->num_documents(); ++i) {
    const int64_t at = index_->document_begin(i);
    if (at >= end) return;
    opens_document[static_cast<size_t>(at - begin)] = 1;
  }
}

namespace {

constexpr int64_t kSmallVocabulary = 1 << 16;

}  // namespace

void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary) {
  if (tokens.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    throw user_error("{} would hold {} tokens, but a shard holds at most {}", path.string(),
                     tokens.size(), std::numeric_limits<int32_t>::max())
        .help("cut the text into several files");
  const bool small = vocabulary <= kSmallVocabulary;
  std::vector<uint16_t> narrow;
  if (small) narrow.assign(tokens.begin(), tokens.end());
  const auto bytes = small ? std::as_bytes(std::span(narrow)) : std::as_bytes(tokens);
  TokenHeader header{20240520, small ? 1 : 2, static_cast<int32_t>(tokens.size())};
  add_block_sums(header, bytes);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  file.write(bytes);
  file.commit();
}

}  // namespace tessera
