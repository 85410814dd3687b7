// SPDX-License-Identifier: Apache-2.0
#include "files/small_file.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

TEST(SmallFile, GivesAllBytesOrNothing) {
  const TemporaryFolder folder;
  const std::string bytes("a\r\n\0b", 5);
  folder.write("some", bytes);
  folder.write("none", "");
  EXPECT_EQ(find_small_file(folder.path() / "some"), bytes);
  EXPECT_EQ(find_small_file(folder.path() / "none"), "");
  EXPECT_EQ(find_small_file(folder.path() / "absent"), std::nullopt);
  EXPECT_EQ(find_small_file(folder.path()), std::nullopt);
}

}  // namespace
}  // namespace tessera
