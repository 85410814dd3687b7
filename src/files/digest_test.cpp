// SPDX-License-Identifier: Apache-2.0
#include "files/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(Digest, NoticesEverySingleFlippedBit) {
  for (const size_t size : {1u, 7u, 64u, 65u, 200u}) {
    std::vector<std::byte> bytes(size, std::byte{0x5a});
    const std::string whole = digest_of(bytes);
    for (size_t i = 0; i < size; ++i)
      for (int bit = 0; bit < 8; ++bit) {
        bytes[i] ^= std::byte{static_cast<unsigned char>(1 << bit)};
        EXPECT_NE(digest_of(bytes), whole) << "byte " << i << " bit " << bit << " of " << size;
        bytes[i] ^= std::byte{static_cast<unsigned char>(1 << bit)};
      }
  }
}

std::vector<std::byte> made_bytes() {
  std::vector<std::byte> bytes((3 << 20) + 77);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  return bytes;
}

// Checked with xxhsum -H3.
TEST(Digest, IsThatOfXxhsum) {
  EXPECT_EQ(digest_of(std::as_bytes(std::span("abc", 3))), "78af5f94892f3950");
  EXPECT_EQ(digest_of({}), "2d06800538d394c2");
  EXPECT_EQ(digest_of(made_bytes()), "f44b23d5a6fe1bc9");
}

TEST(Digest, DependsOnBytesAlone) {
  const std::vector<std::byte> bytes = made_bytes();
  Digest digest;
  digest.add(std::span(bytes).first(1000));
  digest.add(std::span(bytes).subspan(1000));
  EXPECT_EQ(digest.text(), digest_of(bytes));
}

// Checkpoints of before have it.
TEST(OldDigest, StaysWhatItWas) {
  EXPECT_EQ(digest_of(made_bytes(), DigestKind::Own), "ed9f926f9b5177da");
  EXPECT_EQ(digest_of({}, DigestKind::Own), "7d7dcc2b9a650cc6");
}

TEST(Digest, NoticesTwoWordsSwappedAndBytesMissing) {
  std::vector<std::byte> bytes(128);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  std::vector<std::byte> swapped = bytes, shorter(bytes.begin(), bytes.end() - 1);
  std::swap_ranges(swapped.begin(), swapped.begin() + 8, swapped.begin() + 64);
  EXPECT_NE(digest_of(swapped), digest_of(bytes));
  EXPECT_NE(digest_of(shorter), digest_of(bytes));
}

}  // namespace

namespace {

// The vectors of RFC 3720, appendix B.4.
TEST(Crc32c, HasThePublishedValues) {
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising += byte;
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

}  // namespace

}  // namespace tessera
