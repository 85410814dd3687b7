// SPDX-License-Identifier: Apache-2.0
#include "inference/written_samples.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(WrittenSamples, StandBesideEachOtherTheFirstTheSecondAndTheLast) {
  EXPECT_EQ(
      beside_each_other({{0, "xq zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"},
                         {100, "Once the the"},
                         {200, "left out"},
                         {900, "Once upon a time there was a\nkind girl in caf\u00e9s."}}),
      "step 0                           step 100                         step 900\n"
      "------------------------------   ------------------------------   "
      "------------------------------\n"
      "xq                               Once the the                     Once upon a time there "
      "was "
      "a\n"
      "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz                                    kind girl in caf\u00e9s.\n"
      "zzzzzz\n");
}

TEST(WrittenSamples, AreNothingToCompareWhereThereIsOne) {
  EXPECT_EQ(beside_each_other({}), "");
  EXPECT_EQ(beside_each_other({{0, "a"}}), "");
  EXPECT_NE(beside_each_other({{0, "a"}, {1, "b"}}), "");
}

}  // namespace
}  // namespace tessera
