// SPDX-License-Identifier: Apache-2.0
#include "measure/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

// Once for all tests; no figure of the machine that runs them is claimed.
const Cluster& measured() {
  static const Cluster cluster = calibrate({.name = "here", .cores = 1, .quick = true});
  return cluster;
}

TEST(Calibrate, GivesAFileThatReadsBack) {
  EXPECT_TRUE(measured().calibrated);
  EXPECT_EQ(measured().device.cores, 1);
  EXPECT_GT(measured().device.peak(Arithmetic::Fp32), 0);
  const std::string text = to_toml(measured());
  EXPECT_EQ(to_toml(parse_cluster(text, "here.toml")), text);
}

TEST(Calibrate, MeasuresTheKernelsOfEveryFamily) {
  for (const std::string op :
       {"matmul", "matmul_epilogue", "attention", "attention_grad", "rms_norm", "layer_norm",
        "adamw", "output_loss_grad", "expert_matmul", "expert_matmul_dw", "other"})
    EXPECT_TRUE(std::any_of(measured().efficiencies.begin(), measured().efficiencies.end(),
                            [&](const EfficiencyTable& table) { return op_text(table) == op; }))
        << op;
}

TEST(Calibrate, MeasuresEveryCollectiveThatProgramsHave) {
  for (const CollectiveOp op :
       {CollectiveOp::AllReduce, CollectiveOp::AllGather, CollectiveOp::ReduceScatter,
        CollectiveOp::AllToAll, CollectiveOp::Shift})
    EXPECT_TRUE(std::any_of(measured().collectives.begin(), measured().collectives.end(),
                            [&](const CollectiveTable& table) {
                              return table.op == op && table.points.back().second > 0;
                            }))
        << name(op);
}

}  // namespace
}  // namespace tessera
