// SPDX-License-Identifier: Apache-2.0
#include "data/megatron_index.h"

#include <array>
#include <cstring>
#include <string_view>

#include "core/error.h"

namespace tessera {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "MMIDIDX\0\0"sv;
constexpr int64_t kVersionAt = 9, kDtypeAt = 17, kSequencesAt = 18, kDocumentsAt = 26,
                  kHeaderBytes = 34;

// By dtype code; 0 bytes for those that tokens cannot have (6 and 7 are floats).
struct TokenType {
  int64_t bytes;
  bool is_signed;
};
constexpr std::array<TokenType, 9> kTypes{{{0, false},
                                           {1, false},
                                           {1, true},
                                           {2, true},
                                           {4, true},
                                           {8, true},
                                           {0, false},
                                           {0, false},
                                           {2, false}}};

template <typename... Args>
[[noreturn]] void complain(const MappedFile& file, fmt::format_string<Args...> format,
                           Args&&... args) {
  throw user_error("{} is not a complete Megatron index: {}", file.path().string(),
                   fmt::format(format, std::forward<Args>(args)...))
      .at("data.path")
      .help("the file is truncated, damaged or of another kind: copy or create it again");
}

}  // namespace

// Numbers are little-endian and unaligned.
template <typename T>
T MegatronIndex::number_at(int64_t byte) const {
  T number{};
  std::memcpy(&number, file_.bytes().data() + byte, sizeof(T));
  return number;
}

MegatronIndex::MegatronIndex(const std::filesystem::path& path) : file_(path) {
  read_header();
  check_sequences();
  check_documents();
}

void MegatronIndex::read_header() {
  const auto bytes = static_cast<uint64_t>(file_.bytes().size());
  if (bytes < kHeaderBytes) complain(file_, "it has {} bytes, but a header needs 34", bytes);
  if (std::memcmp(file_.bytes().data(), kMagic.data(), kMagic.size()) != 0)
    complain(file_, "it does not begin with MMIDIDX");
  if (const auto version = number_at<uint64_t>(kVersionAt); version != 1)
    complain(file_, "it has version {}, but only version 1 is supported", version);
  const auto code = number_at<uint8_t>(kDtypeAt);
  if (code >= kTypes.size() || kTypes[code].bytes == 0)
    complain(file_, "its dtype code is {}, but tokens have 1 to 5 or 8", code);
  token_bytes_ = kTypes[code].bytes;
  is_signed_ = kTypes[code].is_signed;

  const auto sequences = number_at<uint64_t>(kSequencesAt),
             begins = number_at<uint64_t>(kDocumentsAt);
  // Divides first, so that no product overflows.
  const bool fits = sequences <= bytes / 12 && begins <= bytes / 8;
  if (!fits || kHeaderBytes + 12 * sequences + 8 * begins != bytes)
    complain(file_, "it has {} bytes, which does not match {} sequences and {} document boundaries",
             bytes, sequences, begins);
  if (sequences == 0 || begins < 2) complain(file_, "it lists no document");
  num_sequences_ = static_cast<int64_t>(sequences);
  num_documents_ = static_cast<int64_t>(begins) - 1;
  pointers_at_ = kHeaderBytes + 4 * num_sequences_;
  documents_at_ = pointers_at_ + 8 * num_sequences_;
}

// Sequences must follow each other in the .bin, as Megatron writes them.
void MegatronIndex::check_sequences() {
  int64_t end_bytes = 0;
  for (int64_t i = 0; i < num_sequences_; ++i) {
    const auto length = number_at<int32_t>(kHeaderBytes + 4 * i);
    const auto begin = number_at<int64_t>(pointers_at_ + 8 * i);
    if (length < 0) complain(file_, "sequence {} has {} tokens", i, length);
    if (begin != end_bytes)
      complain(file_, "sequence {} begins at byte {}, but the previous one ends at {}", i, begin,
               end_bytes);
    if (__builtin_add_overflow(end_bytes, length * token_bytes_, &end_bytes))
      complain(file_, "the lengths of its sequences overflow");
  }
  num_tokens_ = end_bytes / token_bytes_;
  if (num_tokens_ == 0) complain(file_, "its {} sequences are empty", num_sequences_);
}

void MegatronIndex::check_documents() const {
  int64_t before = 0;
  for (int64_t i = 0; i <= num_documents_; ++i) {
    const auto sequence = number_at<int64_t>(documents_at_ + 8 * i);
    const bool in_order = i == 0                ? sequence == 0
                          : i == num_documents_ ? sequence == num_sequences_
                                                : sequence >= before && sequence <= num_sequences_;
    if (!in_order)
      complain(file_, "document boundary {} of {} is sequence {} of {}", i, num_documents_,
               sequence, num_sequences_);
    before = sequence;
  }
}

int64_t MegatronIndex::document_begin(int64_t document) const {
  const auto sequence = number_at<int64_t>(documents_at_ + 8 * document);
  if (sequence == num_sequences_) return num_tokens_;
  return number_at<int64_t>(pointers_at_ + 8 * sequence) / token_bytes_;
}

int64_t MegatronIndex::document_from(int64_t token) const {
  int64_t low = 0, high = num_documents_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (document_begin(middle) < token)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace tessera
