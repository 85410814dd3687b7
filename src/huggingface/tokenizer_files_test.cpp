// SPDX-License-Identifier: Apache-2.0
#include "huggingface/tokenizer_files.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

class TokenizerFilesTest : public testing::Test {
 protected:
  std::string refusal() const {
    return user_error_of([&] { TokenizerFiles files(folder_.path() / "model"); });
  }

  TemporaryFolder folder_;
};

TEST_F(TokenizerFilesTest, CopiesWhatIsThereAndNotYetThere) {
  folder_.write("model/tokenizer_config.json", R"({"a": 1})");
  folder_.write("model/merges.txt", "#version: 0.2\na b\nab c\n");
  folder_.write("to/tokenizer_config.json", "mine");
  const TokenizerFiles files(folder_.path() / "model");
  EXPECT_EQ(files.copy_to(folder_.path() / "to"), std::vector<std::string>{"merges.txt"});
  EXPECT_EQ(read_text(folder_.path() / "to/merges.txt"), "#version: 0.2\na b\nab c\n");
  EXPECT_EQ(read_text(folder_.path() / "to/tokenizer_config.json"), "mine");
}

TEST_F(TokenizerFilesTest, RefusesALinkThatLeavesTheFolder) {
  const auto secret = folder_.write("secret.json", "{}");
  const auto link = folder_.write("model/config.json", "{}").parent_path() / "tokenizer.json";
  std::filesystem::create_symlink(secret, link);
  EXPECT_EQ(refusal(), link.string() + " is a link that leads out of the model's folder");
}

TEST_F(TokenizerFilesTest, TakesLinksWithinTheFolderAndWithinTheCacheOfHuggingFace) {
  folder_.write("model/all/tokenizer.json", "{}");
  std::filesystem::create_symlink("all/tokenizer.json", folder_.path() / "model/tokenizer.json");
  EXPECT_EQ(TokenizerFiles(folder_.path() / "model").copy_to(folder_.path()).size(), 1u);
  folder_.write("models--a--b/blobs/0123", "{}");
  const auto snapshot = folder_.write("models--a--b/snapshots/9/config.json", "{}").parent_path();
  std::filesystem::create_symlink("../../blobs/0123", snapshot / "vocab.json");
  EXPECT_EQ(TokenizerFiles(snapshot).copy_to(folder_.path()).size(), 1u);
}

TEST_F(TokenizerFilesTest, RefusesWhatIsNotWhatItsNameSays) {
  folder_.write("model/special_tokens_map.json", "root:*:19000:0:99999:7:::\n");
  EXPECT_TRUE(refusal().ends_with("special_tokens_map.json is not JSON")) << refusal();
  folder_.write("model/special_tokens_map.json", "{}");
  folder_.write("model/merges.txt", "a b\nroot:*:19000:0:99999:7:::\n");
  EXPECT_TRUE(refusal().ends_with("merges.txt is not a list of merges, two words per line"))
      << refusal();
}

}  // namespace
}  // namespace tessera
