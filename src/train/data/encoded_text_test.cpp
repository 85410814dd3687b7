// SPDX-License-Identifier: Apache-2.0
#include "train/data/encoded_text.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "tokenizer/encoder.h"
#include "tokenizer/testing/made_tokenizer.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

TEST(EncodedText, IsWhatTheTokenizerSays) {
  const std::string text = "The cat sat on the mat, and the other one did not.";
  const TemporaryFolder folder;
  const Tokenizer tokenizer = parse_tokenizer(made_tokenizer_json({}), "made");
  const EncodedText source(folder.write("text.txt", text), tokenizer);
  const std::vector<int32_t> expected = Encoder(tokenizer).encode(text);
  ASSERT_LT(expected.size(), text.size());  // words were merged
  ASSERT_EQ(source.num_tokens(), static_cast<int64_t>(expected.size()));
  std::vector<int32_t> tokens(expected.size() - 1);
  std::vector<uint8_t> opens(tokens.size());
  source.read(1, tokens, opens);
  EXPECT_EQ(tokens, std::vector<int32_t>(expected.begin() + 1, expected.end()));
  EXPECT_EQ(opens, std::vector<uint8_t>(opens.size(), 0));
  source.read(0, tokens, opens);
  EXPECT_EQ(opens.front(), 1);
  for (const int32_t token : expected) EXPECT_LT(token, source.vocabulary_size());
}

}  // namespace
}  // namespace tessera
