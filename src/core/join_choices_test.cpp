// SPDX-License-Identifier: Apache-2.0
#include "core/join_choices.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(JoinChoices, TheLastChoiceStandsBehindOr) {
  EXPECT_EQ(join_choices(std::vector<int64_t>{}), "");
  EXPECT_EQ(join_choices(std::vector<int64_t>{1}), "1");
  EXPECT_EQ(join_choices(std::vector<int64_t>{1, 2}), "1 or 2");
  EXPECT_EQ(join_choices(std::vector<std::string>{"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace tessera
