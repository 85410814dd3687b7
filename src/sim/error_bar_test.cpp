// SPDX-License-Identifier: Apache-2.0
#include "sim/error_bar.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

ErrorBar bar(const std::string& cluster, std::vector<Axis> mesh) {
  return nearest_error_bar(load_cluster(cluster), Mesh(std::move(mesh))).value_or(ErrorBar{});
}

TEST(ErrorBar, IsThatOfTheSameDeviceReachAndStages) {
  const ErrorBar far = bar("dgx-a100", {{"pp", 4}, {"dp", 8}});
  EXPECT_EQ(far.device, "A100");
  EXPECT_EQ(far.reach, "nodes");
  EXPECT_TRUE(far.stages);
  EXPECT_GT(far.runs, 0);
  EXPECT_EQ(bar("dgx-a100", {{"dp", 8}}).reach, "node");
  EXPECT_FALSE(bar("dgx-a100", {{"dp", 8}}).stages);
  EXPECT_EQ(bar("h200", {}).reach, "one");
}

TEST(ErrorBar, ReachMattersMoreThanStages) {
  const ErrorBar nearest = bar("dgx-h100", {{"pp", 2}, {"dp", 4}});  // none was published
  EXPECT_EQ(nearest.device, "H100");
  EXPECT_EQ(nearest.reach, "node");
}

TEST(ErrorBar, IsNotKnownOfDevicesThatNoPublishedRunUsed) {
  EXPECT_FALSE(nearest_error_bar(load_cluster("laptop"), Mesh(std::vector<Axis>{})));
  EXPECT_NE(error_bar_text(load_cluster("laptop"), Mesh(std::vector<Axis>{})).find("not known"),
            std::string::npos);
  EXPECT_NE(error_bar_text(load_cluster("dgx-h100"), Mesh({{"dp", 8}})).find("within"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
