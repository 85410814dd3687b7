// SPDX-License-Identifier: Apache-2.0
#include "core/one_of.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(OneOf, TheLastChoiceStandsBehindOr) {
  EXPECT_EQ(one_of(std::vector<int64_t>{}), "");
  EXPECT_EQ(one_of(std::vector<int64_t>{1}), "1");
  EXPECT_EQ(one_of(std::vector<int64_t>{1, 2}), "1 or 2");
  EXPECT_EQ(one_of(std::vector<std::string>{"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace tessera
