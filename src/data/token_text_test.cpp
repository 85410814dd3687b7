// SPDX-License-Identifier: Apache-2.0
#include "data/token_text.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "tokenizer/testing/made_tokenizer.h"

namespace tessera {
namespace {

TEST(TokenText, IsBytesOrNumbersWithoutATokenizer) {
  EXPECT_TRUE(TokenText("", 256).is_text());
  EXPECT_EQ(TokenText("", 256).show('x'), "x");
  EXPECT_EQ(TokenText("", 256).opening(), std::vector<int32_t>{'\n'});
  EXPECT_FALSE(TokenText("", 1000).is_text());
  EXPECT_EQ(TokenText("", 1000).show(77), "77 ");
}

TEST(TokenText, ReadsAndShowsByTheTokenizerBesideTheShards) {
  const TemporaryFolder folder;
  folder.write(
      "tokenizer.json",
      made_tokenizer_json({.added = R"([{"id":900,"content":"<|endoftext|>","special":true}])"}));
  Config config;
  EXPECT_EQ(tokenizer_of_config(config), "");
  config.data.path = (folder.path() / "*.bin").string();
  const TokenText text(tokenizer_of_config(config), 1000);
  EXPECT_EQ(text.encode("The"), std::vector<int32_t>{made_id("The")});
  EXPECT_EQ(text.show(made_id("The")), "The");
  EXPECT_EQ(text.opening(), std::vector<int32_t>{900});
  EXPECT_EQ(user_error_of([&] { TokenText(tokenizer_of_config(config), 900); }),
            "the tokenizer has 901 tokens, but the model has a vocabulary of 900");
}

TEST(TokenText, ShowsDotsForWhatATerminalCannotShow) {
  EXPECT_EQ(printable("a\n\t\x1b[1m\xFF"
                      "狐\x7f\u009b2J"),
            "a\n\t.[1m."
            "狐..2J");
}

}  // namespace
}  // namespace tessera
