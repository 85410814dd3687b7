// SPDX-License-Identifier: Apache-2.0
// Stored models on a GPU: the losses and the text that the CPU gives, and the same losses on every
// mesh that is timed there.
#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "data/row_samples.h"
#include "exec/device.h"
#include "inference/evaluate_model.h"
#include "inference/stored_model.h"
#include "inference/text_generator.h"
#include "measure/scaling_bench.h"
#include "train/trainer.h"

namespace tessera {
namespace {

class GpuInference : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }

  // Samples as long as cuDNN's kernels want them; in fp64 nothing is close to a tie.
  static std::vector<std::string> settings(std::vector<std::string> more) {
    std::vector<std::string> all{fmt::format("model.preset={}", GetParam()),
                                 "train.precision=fp64",
                                 "train.batch=4",
                                 "train.seq=64",
                                 "model.layers=2",
                                 "run.peak_gflops=1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // Three steps, so that no parameter has its first value.
  std::unique_ptr<StateSource> store() const {
    Trainer(load_config({}, settings({"train.steps=3", "checkpoint.every=3", "train.eval_every=0",
                                      "train.sample_every=0", "run.out=" + run_.string()})),
            {.resume = false, .overwrite = true, .quiet = true})
        .run();
    return open_stored_model(run_.string());
  }

  static RowSamples rows() {
    std::vector<RowSamples::Row> rows;
    for (int32_t r = 0; r < 6; ++r) {
      RowSamples::Row row;
      for (int32_t i = 0; i < 64; ++i) {
        row.tokens.push_back((7 * i + 13 * r) % 250);
        row.labels.push_back(i % (r + 2) == 0 ? -1 : (11 * i + r) % 250);
      }
      rows.push_back(std::move(row));
    }
    return {std::move(rows), 64};
  }

  TemporaryFolder folder_;
  std::filesystem::path run_ = folder_.path() / "run";
};

TEST_P(GpuInference, EvaluatesAsTheCpuDoesOnEveryMesh) {
  const auto stored = store();
  const auto evaluate = [&](std::vector<std::string> more) {
    return evaluate_model(*stored, load_config({}, settings(std::move(more))), rows(), 6, false);
  };
  const Evaluation cpu = evaluate({});
  for (const char* mesh : {"dp=1", "dp=2", "tp=2", "pp=2", "fsdp=2"}) {
    const Evaluation gpu =
        evaluate({"run.device=cuda", "train.microbatches=2", fmt::format("mesh={}", mesh)});
    EXPECT_EQ(gpu.labels, cpu.labels) << mesh;
    EXPECT_NEAR(gpu.loss, cpu.loss, 1e-9 * cpu.loss) << mesh;
  }
}

TEST_P(GpuInference, WritesTheTextThatTheCpuWrites) {
  const auto stored = store();
  const ModelConfig model = resolve_model(config_of(*stored));
  const auto written = [&](DeviceKind device, double temperature) {
    TextGenerator generator(model, DType::Fp64, {.window = 64, .device = device});
    stored->load_weights(generator.executor(), false);
    std::vector<int32_t> tokens;
    generator.generate({5, 9, 2}, {.tokens = 80, .choice = {.temperature = temperature}, .seed = 3},
                       [&](int32_t token) {
                         tokens.push_back(token);
                         return true;
                       });
    return tokens;
  };
  for (const double temperature : {0.0, 0.8})
    EXPECT_EQ(written(DeviceKind::Cuda, temperature), written(DeviceKind::Cpu, temperature));
}

TEST_P(GpuInference, ScalingIsMeasuredOverRanksThatShareTheGpu) {
  const Config config = load_config({}, settings({"run.device=cuda"}));
  const ScalingResult result =
      bench_scaling(config, {{{"dp", 2}}, {{"tp", 2}}}, {.steps = 2, .rounds = 1});
  ASSERT_EQ(result.rows.size(), 3u);
  for (const ScalingRow& row : result.rows) {
    EXPECT_DOUBLE_EQ(row.ideal, 1);
    EXPECT_NEAR(row.loss, result.rows[0].loss, 1e-9 * row.loss) << to_string(row.mesh);
  }
}

INSTANTIATE_TEST_SUITE_P(GpuStoredModels, GpuInference, testing::Values("tiny", "tiny-moe"));

}  // namespace
}  // namespace tessera
