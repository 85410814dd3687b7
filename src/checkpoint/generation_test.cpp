// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/generation.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

TEST(Generation, OfTheLastStartMayWriteAndNoOther) {
  const TemporaryFolder folder;
  const Generation first(folder.path());
  EXPECT_TRUE(first.while_newest([] {}));
  const Generation second(folder.path());
  EXPECT_EQ(second.number(), first.number() + 1);
  bool written = false;
  EXPECT_FALSE(first.while_newest([&] { written = true; }));
  EXPECT_FALSE(written);
  EXPECT_TRUE(second.while_newest([&] { written = true; }));
  EXPECT_TRUE(written);
}

TEST(Generation, IsLostWithItsFileAndSaysThatTheFolderIsGone) {
  const TemporaryFolder folder;
  const Generation first(folder.path());
  std::filesystem::remove(folder.path() / "generation");
  EXPECT_EQ(user_error_of([&] { first.while_newest([] {}); }),
            folder.path().string() +
                " is no longer the folder that this run began in: it is gone or empty");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "generation"));
  const Generation again(folder.path());  // of the same number
  EXPECT_EQ(again.number(), first.number());
  EXPECT_FALSE(first.while_newest([] {}));
}

TEST(Generation, IsNotTakenWhileAnotherWrites) {
  const TemporaryFolder folder;
  const Generation writing(folder.path());
  EXPECT_TRUE(writing.while_newest(
      [&] { EXPECT_THROW(Generation(folder.path(), /*patience_seconds=*/0.05), UserError); }));
  EXPECT_EQ(Generation(folder.path()).number(), writing.number() + 1);
}

}  // namespace
}  // namespace tessera
