// SPDX-License-Identifier: Apache-2.0
// Token shards in Megatron's format, read through a BinSource as in training.
#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/bin_source.h"
#include "data/testing/megatron_bytes.h"

namespace tessera {
namespace {

using Ints = std::vector<int32_t>;
using Flags = std::vector<uint8_t>;

class MegatronTest : public testing::Test {
 protected:
  void write(const std::string& name, const MegatronBytes& bytes) const {
    folder_.write(name + ".bin", bytes.bin);
    folder_.write(name + ".idx", bytes.idx);
  }
  BinSource open(const std::string& pattern, int64_t vocabulary = 100'000) const {
    return BinSource({.pattern = (folder_.path() / pattern).string(),
                      .vocabulary = vocabulary,
                      .document_end = 7});
  }
  // What is wrong with the index, without the folder's name.
  std::string error_of(const std::string& idx) const {
    write("broken", {bytes_.bin, idx});
    const std::string message = user_error_of([&] { open("broken.bin"); });
    const std::string begin = (folder_.path() / "broken.idx").string();
    return message.starts_with(begin) ? message.substr(begin.size()) : message;
  }
  std::string with(size_t at, auto number) const {
    std::string idx = bytes_.idx, written;
    append_number(written, number);
    return idx.replace(at, written.size(), written);
  }

  // Three documents: of two sequences, of one, of none; sequence 2 is empty.
  MegatronBytes bytes_ = megatron_bytes<uint16_t>(8, {{{1, 2}, {3}}, {{}, {5, 6, 7, 8}}, {}});
  TemporaryFolder folder_;
};

void expect_tokens(const TokenSource& source, const Ints& tokens, const Flags& opens) {
  for (size_t begin = 0; begin <= tokens.size(); ++begin) {
    Ints read(tokens.size() - begin);
    Flags flags(read.size(), 9);
    source.read(static_cast<int64_t>(begin), read, flags);
    EXPECT_EQ(read, Ints(tokens.begin() + static_cast<int64_t>(begin), tokens.end()));
    EXPECT_EQ(flags, Flags(opens.begin() + static_cast<int64_t>(begin), opens.end()));
  }
}

TEST_F(MegatronTest, DocumentsBeginWhereTheIndexSaysAndNotBehindAnEndToken) {
  write("a", bytes_);
  const BinSource source = open("a.bin");
  ASSERT_EQ(source.num_tokens(), 7);
  expect_tokens(source, {1, 2, 3, 5, 6, 7, 8}, {1, 0, 0, 1, 0, 0, 0});
}

TEST_F(MegatronTest, ReadsEveryTypeOfWholeNumber) {
  write("u8", megatron_bytes<uint8_t>(1, {{{200}}}));
  write("i8", megatron_bytes<int8_t>(2, {{{100}}}));
  write("i16", megatron_bytes<int16_t>(3, {{{30'000}}}));
  write("i32", megatron_bytes<int32_t>(4, {{{99'999}}}));
  write("i64", megatron_bytes<int64_t>(5, {{{99'998}}}));
  write("u16", megatron_bytes<uint16_t>(8, {{{65'535}}}));
  expect_tokens(open("u8.bin"), {200}, {1});
  expect_tokens(open("i8.bin"), {100}, {1});
  expect_tokens(open("i16.bin"), {30'000}, {1});
  expect_tokens(open("i32.bin"), {99'999}, {1});
  expect_tokens(open("i64.bin"), {99'998}, {1});
  expect_tokens(open("u16.bin"), {65'535}, {1});
}

TEST_F(MegatronTest, NoTokenIsNegativeOrBeyondTheVocabulary) {
  write("i16", megatron_bytes<int16_t>(3, {{{1, -2}}}));
  write("i64", megatron_bytes<int64_t>(5, {{{int64_t{1} << 40}}}));
  Ints one(1);
  EXPECT_EQ(user_error_of([&] { open("i16.bin").read(1, one, {}); }),
            "token -2 at position 1 of " + (folder_.path() / "i16.bin").string() +
                " is not below the vocabulary of 100000");
  EXPECT_EQ(user_error_of([&] { open("i64.bin").read(0, one, {}); }),
            "token 1099511627776 at position 0 of " + (folder_.path() / "i64.bin").string() +
                " is not below the vocabulary of 100000");
}

TEST_F(MegatronTest, ShardsOfBothLayoutsFollowEachOther) {
  write("t_0", megatron_bytes<uint16_t>(8, {{{1, 2}}, {{3}}}));
  std::string header(1024, '\0');
  const int32_t words[3]{20240520, 1, 3};
  header.replace(0, 12, reinterpret_cast<const char*>(words), 12);
  folder_.write("t_1.bin", header + std::string("\x04\0\x07\0\x05\0", 6));
  write("t_2", megatron_bytes<uint16_t>(8, {{{6}}}));
  expect_tokens(open("t_*.bin"), {1, 2, 3, 4, 7, 5, 6}, {1, 0, 1, 1, 0, 1, 1});
}

TEST_F(MegatronTest, SaysWhatIsWrongWithAnIndex) {
  const std::string whole = " is not a complete Megatron index: ", &good = bytes_.idx;
  EXPECT_EQ(error_of(""), whole + "it has 0 bytes, but a header needs 34");
  EXPECT_EQ(error_of("x" + good), whole + "it does not begin with MMIDIDX");
  EXPECT_EQ(error_of(with(9, uint64_t{2})),
            whole + "it has version 2, but only version 1 is supported");
  for (const int code : {0, 6, 7, 9, 255})
    EXPECT_EQ(error_of(with(17, static_cast<uint8_t>(code))),
              whole + fmt::format("its dtype code is {}, but tokens have 1 to 5 or 8", code));
  for (const uint64_t count : {uint64_t{3}, uint64_t{5}, uint64_t{1} << 62, ~uint64_t{0}})
    EXPECT_EQ(error_of(with(18, count)),
              whole + fmt::format("it has 114 bytes, which does not match {} sequences and 4 "
                                  "document boundaries",
                                  count));
  EXPECT_EQ(error_of(good.substr(0, 113)),
            whole + "it has 113 bytes, which does not match 4 sequences and 4 document boundaries");
  EXPECT_EQ(error_of(with(34, int32_t{-1})), whole + "sequence 0 has -1 tokens");
  EXPECT_EQ(error_of(with(50 + 8, int64_t{2})),
            whole + "sequence 1 begins at byte 2, but the previous one ends at 4");
  EXPECT_EQ(error_of(with(82, int64_t{1})), whole + "document boundary 0 of 3 is sequence 1 of 4");
  EXPECT_EQ(error_of(with(98, int64_t{1})), whole + "document boundary 2 of 3 is sequence 1 of 4");
  EXPECT_EQ(error_of(with(90, int64_t{-1})),
            whole + "document boundary 1 of 3 is sequence -1 of 4");
  EXPECT_EQ(error_of(with(106, int64_t{3})), whole + "document boundary 3 of 3 is sequence 3 of 4");
  EXPECT_EQ(error_of(megatron_bytes<uint16_t>(8, {}).idx), whole + "it lists no document");
  EXPECT_EQ(error_of(megatron_bytes<uint16_t>(8, {{{}}}).idx), whole + "its 1 sequences are empty");
}

TEST_F(MegatronTest, SaysThatTheTokensAreNotThoseOfTheIndex) {
  write("cut", {bytes_.bin.substr(1), bytes_.idx});
  EXPECT_EQ(user_error_of([&] { open("cut.bin"); }),
            (folder_.path() / "cut.bin").string() +
                " has 13 bytes, but the 7 tokens of its index need 14");
  EXPECT_EQ(user_error_of([&] { open("cut.idx"); }),
            (folder_.path() / "cut.idx").string() + " is an index, not tokens");
}

}  // namespace
}  // namespace tessera
