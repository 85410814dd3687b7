// SPDX-License-Identifier: Apache-2.0
#include "measure/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "config/compile_step.h"
#include "ir/op_list.h"
#include "measure/kernel_calibration.h"
#include "program/buffer_types.h"

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

// A full calibration, not only the quick one of the tests above, on machines of two and of more
// cores.
TEST(CpuCalibrationModels, DivideByTheRanksOfEveryLoad) {
  for (const RankLoad& load : cpu_calibration_loads(4)) {
    if (load.ranks == 1) continue;
    for (const CalibrationModel& model : cpu_calibration_models())
      EXPECT_NO_THROW(compile(resolve(cpu_calibration_config(model, load))))
          << model.preset << " " << model.width << ", " << load.ranks << " ranks";
  }
}

// Each is a model that can be compiled, so its kernels can be timed.
TEST(LongModels, HaveHeadsOf64And128UpTo131072Tokens) {
  std::map<int64_t, int64_t> longest;  // by head size
  for (const CalibrationModel& model : long_models()) {
    const RunSpec spec = resolve(config_of(model, {"train.precision=bf16"}));
    const Program program = std::move(compile(spec).programs.front());
    for (const ProgramClass& each : program.classes)
      for (const auto& routine : each.routines)
        for (const Instruction& instruction : routine) {
          const auto* kernel = instruction.as<KernelInstruction>();
          if (!kernel || kernel->op != OpKind::attention) continue;
          const TensorType query = types_of(each, kernel->operands).front();
          int64_t& most = longest[query.dims.back().size];
          most = std::max(most, query.dims[1].size);
        }
  }
  EXPECT_EQ(longest, (std::map<int64_t, int64_t>{{64, 131072}, {128, 131072}}));
}

}  // namespace
}  // namespace tessera
