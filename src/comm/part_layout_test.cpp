// SPDX-License-Identifier: Apache-2.0
#include "comm/part_layout.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PartLayout, AContiguousPartIsOneRun) {
  const Parts parts{.outer = 3,
                    .outer_stride = 20,
                    .middle = 4,
                    .middle_stride = 5,
                    .part_stride = 60,
                    .inner = 5};
  const PartLayout::Run run = PartLayout(parts, 2).run_at(7);
  EXPECT_EQ(run.offset, 127);
  EXPECT_EQ(run.count, 53);
}

TEST(PartLayout, AShardOfAnInnerDimIsARunPerRow) {
  const Parts parts{.outer = 3,
                    .outer_stride = 100,
                    .middle = 4,
                    .middle_stride = 20,
                    .part_stride = 5,
                    .inner = 5};
  const PartLayout layout(parts, 1);
  EXPECT_EQ(layout.run_at(0).offset, 5);
  EXPECT_EQ(layout.run_at(0).count, 5);
  EXPECT_EQ(layout.run_at(13).offset, 5 + 2 * 20 + 3);
  EXPECT_EQ(layout.run_at(13).count, 2);
  EXPECT_EQ(layout.run_at(20).offset, 105);
}

TEST(PartLayout, RowsWithEvenStridesAreWalkedAsOneDim) {
  const Parts parts{.outer = 3,
                    .outer_stride = 80,
                    .middle = 4,
                    .middle_stride = 20,
                    .part_stride = 5,
                    .inner = 5};
  for (int64_t row = 0; row < 12; ++row)
    EXPECT_EQ(PartLayout(parts, 0).run_at(row * 5).offset, row * 20);
}

TEST(ShareOf, SharesCoverEveryElementOnceAndBeginAtCacheLines) {
  for (const int64_t elements : {0, 1, 15, 16, 17, 1000, 4096})
    for (const int members : {1, 2, 3, 7, 8}) {
      int64_t end = 0;
      for (int member = 0; member < members; ++member) {
        const Share share = share_of(elements, 4, member, members);
        EXPECT_EQ(share.begin, end);
        EXPECT_TRUE(share.begin % 16 == 0 || share.begin == elements);
        end = share.end;
      }
      EXPECT_EQ(end, elements);
    }
}

TEST(ShareOf, SharesDifferByACacheLineAtMost) {
  for (int member = 0; member < 3; ++member) {
    const Share share = share_of(1000, 4, member, 3);
    EXPECT_NEAR(static_cast<double>(share.end - share.begin), 333, 16);
  }
}

}  // namespace
}  // namespace tessera
