// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/run_identity.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/storage_error.h"
#include "system/random_name.h"

namespace tessera {
namespace {

TEST(RunIdentity, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_run_identity(folder.path()));
  EXPECT_FALSE(read_run_identity(folder.path() / "nowhere"));
  const std::string id = random_name();
  for (const std::optional<int64_t> adopted :
       {std::optional<int64_t>(), std::optional<int64_t>(50)}) {
    write_run_identity(folder.path(), {.id = id, .adopted_step = adopted});
    const auto read = read_run_identity(folder.path());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, id);
    EXPECT_EQ(read->adopted_step, adopted);
  }
}

TEST(RunIdentity, IsDrawnAnewEachTime) { EXPECT_NE(random_name(), random_name()); }

TEST(RunIdentity, OfOthersIsNoneToGoOnFromUnlessItWasAdopted) {
  const RunIdentity own{.id = "0123456789abcdef"};
  const RunIdentity adopting{.id = "0123456789abcdef", .adopted_step = 50};
  const auto facts = [](int64_t step, const std::string& run) {
    return CheckpointFacts{.position = {.step = step}, .mesh = "1", .config_toml = "", .run = run};
  };
  EXPECT_TRUE(own.may_continue_from(facts(100, own.id)));
  EXPECT_FALSE(own.may_continue_from(facts(50, "")));
  EXPECT_FALSE(own.may_continue_from(facts(50, "fedcba9876543210")));
  EXPECT_TRUE(adopting.may_continue_from(facts(50, "")));
  EXPECT_FALSE(adopting.may_continue_from(facts(51, "")));
}

TEST(RunIdentity, ThatCannotBeReadIsNotTakenForNone) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(kRunFileName, folder.path() / kRunFileName);
  EXPECT_THROW(read_run_identity(folder.path()), StorageError);
}

TEST(RunIdentity, RefusesWhatIsNone) {
  const TemporaryFolder folder;
  for (const char* text : {"", "{}", "[", R"({"run":3})", R"({"run":"../../x"})",
                           R"({"run":"0123456789abcdef","adopted_step":"x"})"}) {
    const auto path = folder.write(kRunFileName, text);
    EXPECT_EQ(user_error_of([&] { read_run_identity(folder.path()); }),
              path.string() + " does not name a run");
  }
}

}  // namespace
}  // namespace tessera
