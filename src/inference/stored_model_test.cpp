// SPDX-License-Identifier: Apache-2.0
#include "inference/stored_model.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

// A model of which only the path and the config are used.
class Stored : public StateSource {
 public:
  Stored(std::filesystem::path path, std::string toml) : StateSource(std::move(path)) {
    facts_.config_toml = std::move(toml);
  }
  const CheckpointFacts& facts() const override { return facts_; }
  std::string digest() const override { return {}; }

 private:
  void for_each_overlap(const std::string&, const std::vector<Stretch>&,
                        const Overlap&) const override {}
  CheckpointFacts facts_;
};

TEST(TokenizerOf, AModelIsInTheFolderOfItsRunBesideItsFileOrInItsOwn) {
  const TemporaryFolder folder;
  const auto kept = folder.write("run/tokenizer.json", "{}");
  folder.write("run/checkpoints/step-00000007/manifest.json", "{}");
  const auto found = [&](const char* path) {
    return tokenizer_of(Stored(folder.path() / path, ""), "");
  };
  EXPECT_EQ(found("run/checkpoints/step-00000007"), kept);
  EXPECT_EQ(found("run/weights.safetensors"), kept);
  EXPECT_EQ(found("run"), kept);
  // A tokenizer further up may belong to anything.
  folder.write("run/elsewhere/step-00000007/manifest.json", "{}");
  EXPECT_EQ(found("run/elsewhere/step-00000007"), "");
}

TEST(TokenizerOf, AModelIsTheOneGivenOrElseTheOneThatTheConfigNames) {
  const TemporaryFolder folder;
  const Stored stored(folder.path() / "weights.safetensors",
                      "[data]\ntokenizer = \"named.json\"\n");
  EXPECT_EQ(tokenizer_of(stored, ""), "named.json");
  const auto beside = folder.write("tokenizer.json", "{}");
  EXPECT_EQ(tokenizer_of(stored, ""), beside);
  EXPECT_EQ(tokenizer_of(stored, "given.json"), "given.json");
}

}  // namespace
}  // namespace tessera
