// SPDX-License-Identifier: Apache-2.0
#include "inference/text_samples.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "tokenizer/testing/made_tokenizer.h"

namespace tessera {
namespace {

using Tokens = std::vector<int32_t>;

TEST(TextSamples, HaveEveryTokenOfAFileButItsFirstAsALabelOnce) {
  const TemporaryFolder folder;
  folder.write("a.txt", "abcdef");
  folder.write("b.txt", "xy");
  folder.write("c.txt", "z");
  const RowSamples samples = text_samples(folder.path(), "text", TokenText("", 256), 3);
  ASSERT_EQ(samples.rows().size(), 3u);
  EXPECT_EQ(samples.rows()[0].tokens, (Tokens{'a', 'b', 'c'}));
  EXPECT_EQ(samples.rows()[0].labels, (Tokens{'b', 'c', 'd'}));
  EXPECT_EQ(samples.rows()[1].tokens, (Tokens{'d', 'e'}));
  EXPECT_EQ(samples.rows()[1].labels, (Tokens{'e', 'f'}));
  EXPECT_EQ(samples.rows()[2].labels, Tokens{'y'});
  EXPECT_EQ(samples.seq(), 3);
  EXPECT_EQ(label_bytes(samples, 3, TokenText("", 256)), 6);
  EXPECT_EQ(label_bytes(samples, 1, TokenText("", 256)), 3);
}

TEST(TextSamples, AreOfTheTextsOfAJsonlFile) {
  const TemporaryFolder folder;
  const auto lines = folder.write("a.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"xyz\"}\n");
  const RowSamples samples = text_samples(lines, "text", TokenText("", 256), 8);
  ASSERT_EQ(samples.rows().size(), 2u);
  EXPECT_EQ(samples.rows()[0].labels, Tokens{'b'});
  EXPECT_EQ(samples.rows()[1].labels, (Tokens{'y', 'z'}));
}

TEST(TextSamples, AreWhatTheTokenizerSays) {
  const std::string text = "The cat sat on the mat, and the other one did not.";
  const TemporaryFolder folder;
  const TokenText words(folder.write("tokenizer.json", made_tokenizer_json({})), 1000);
  const RowSamples samples = text_samples(folder.write("text.txt", text), "text", words, 1000);
  const Tokens expected = words.encode(text);
  ASSERT_LT(expected.size(), text.size());  // words were merged
  ASSERT_EQ(samples.rows().size(), 1u);
  EXPECT_EQ(samples.rows()[0].tokens, Tokens(expected.begin(), expected.end() - 1));
  EXPECT_EQ(samples.rows()[0].labels, Tokens(expected.begin() + 1, expected.end()));
  EXPECT_EQ(label_bytes(samples, 1, words),
            static_cast<int64_t>(text.size() - words.show(expected[0]).size()));
}

TEST(TextSamples, NeedTwoTokens) {
  const TemporaryFolder folder;
  const auto text = folder.write("text.txt", "x");
  EXPECT_EQ(user_error_of([&] { text_samples(text, "text", TokenText("", 256), 8); }),
            text.string() + " is one token: there is none to follow it");
}

}  // namespace
}  // namespace tessera
