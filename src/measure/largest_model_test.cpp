// SPDX-License-Identifier: Apache-2.0
#include "measure/largest_model.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<FamilyMember> gpt2_family(std::vector<std::string> more) {
  std::vector<std::string> settings{"model.preset=gpt2-124m", "train.batch=4", "train.seq=64",
                                    "train.threads=1"};
  settings.insert(settings.end(), more.begin(), more.end());
  return family_members(load_config({}, settings));
}

TEST(FamilyMembers, NeedOnARankWhatTheMeshLeavesOfThem) {
  const auto alone = gpt2_family({});
  const auto sharded = gpt2_family({"mesh=fsdp=4", "plan.zero=3"});
  const auto staged = gpt2_family({"mesh=pp=4", "train.microbatches=4"});
  ASSERT_EQ(alone.size(), 4u);
  ASSERT_EQ(sharded.size(), 4u);
  ASSERT_EQ(staged.size(), 4u);
  for (size_t i = 0; i < alone.size(); ++i) {
    SCOPED_TRACE(alone[i].preset);
    EXPECT_EQ(sharded[i].preset, alone[i].preset);
    // A quarter of the states, and the activations of a quarter of the batch; a block or two whole.
    EXPECT_LT(sharded[i].peak_bytes, alone[i].peak_bytes / 2);
    EXPECT_GT(sharded[i].peak_bytes, alone[i].peak_bytes / 5);
    EXPECT_LT(staged[i].peak_bytes, alone[i].peak_bytes * 3 / 4);
  }
}

TEST(FamilyMembers, AreToldApartThatTheMeshDoesNotSuit) {
  const auto members = gpt2_family({"mesh=tp=8"});  // of 12, 16, 20 and 25 heads
  ASSERT_EQ(members.size(), 4u);
  EXPECT_EQ(members.front().preset, "gpt2-350m");
  EXPECT_TRUE(members.front().fits(int64_t{1} << 40));
  for (size_t i = 1; i < members.size(); ++i) {
    EXPECT_NE(members[i].refusal, "") << members[i].preset;
    EXPECT_FALSE(members[i].fits(int64_t{1} << 40)) << members[i].preset;
  }
}

TEST(FamilyMembers, NeedTheSnapshotOfTheirCheckpointsToo) {
  const auto without = gpt2_family({}), with = gpt2_family({"checkpoint.every=10"});
  for (size_t i = 0; i < without.size(); ++i)
    EXPECT_GT(with[i].peak_bytes, without[i].peak_bytes * 5 / 4) << without[i].preset;
}

TEST(FamilyMembers, NeedOnTheHostWhatThePlanKeepsThere) {
  const auto members = gpt2_family({"plan.offload=states"});
  for (const FamilyMember& member : members) {
    EXPECT_GT(member.host_bytes, 0) << member.preset;
    EXPECT_TRUE(member.fits(member.peak_bytes, member.host_bytes)) << member.preset;
    EXPECT_FALSE(member.fits(member.peak_bytes, member.host_bytes - 1)) << member.preset;
  }
  EXPECT_EQ(gpt2_family({}).front().host_bytes, 0);
}

}  // namespace
}  // namespace tessera
