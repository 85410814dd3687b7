// SPDX-License-Identifier: Apache-2.0
#include "inference/evaluate_model.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/row_samples.h"
#include "inference/stored_model.h"
#include "train/trainer.h"

namespace tessera {
namespace {

std::vector<std::string> small_model(const std::string& preset) {
  std::vector<std::string> settings{
      "model.preset=" + preset, "model.layers=3",       "model.width=16",   "model.heads=2",
      "model.mlp_size=24",      "model.vocabulary=256", "model.context=16", "train.precision=fp64",
      "train.batch=4",          "train.seq=8"};
  if (preset == "tiny") settings.emplace_back("model.head_size=8");
  if (preset == "tiny") settings.emplace_back("model.kv_heads=2");
  return settings;
}

class EvaluateModel : public testing::Test {
 protected:
  // One step, so that no parameter has its initial value.
  void store(const std::string& preset) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += static_cast<char>(1 + i * i % 31);
    std::vector<std::string> settings = small_model(preset);
    for (const char* more :
         {"train.steps=1", "checkpoint.every=1", "train.eval_every=0", "train.learning_rate=0.1",
          "train.warmup_steps=0", "data.source=text", "run.peak_gflops=1"})
      settings.emplace_back(more);
    settings.push_back("data.path=" + folder_.write("text", text).string());
    settings.push_back("run.out=" + run_.string());
    Trainer(load_config({}, settings), {.resume = false, .overwrite = true, .quiet = true}).run();
  }

  Evaluation evaluate(const std::string& preset, const RowSamples& samples, int64_t count,
                      std::vector<std::string> more) const {
    std::vector<std::string> settings = small_model(preset);
    settings.insert(settings.end(), more.begin(), more.end());
    return evaluate_model(*open_stored_model(run_.string()), load_config({}, settings), samples,
                          count, false);
  }

  // Four rows of 8, 1, 3 and 0 labels.
  static RowSamples unequal_rows() {
    std::vector<RowSamples::Row> rows;
    for (const size_t labels : {8, 1, 3, 0}) {
      RowSamples::Row row;
      for (size_t i = 0; i < 8; ++i) {
        row.tokens.push_back(static_cast<int32_t>(i * 5 + labels));
        row.labels.push_back(i < labels ? static_cast<int32_t>(i * 7 + 1) : -1);
      }
      rows.push_back(std::move(row));
    }
    return {std::move(rows), 8};
  }

  TemporaryFolder folder_;
  std::filesystem::path run_ = folder_.path() / "run";
};

TEST_F(EvaluateModel, WeighsEveryLabelAlikeHoweverManyABatchHas) {
  store("tiny");
  const RowSamples all = unequal_rows();
  double sum = 0;
  int64_t labels = 0;
  for (int64_t row = 0; row < 3; ++row) {
    const RowSamples one({all.rows()[static_cast<size_t>(row)]}, 8);
    const Evaluation alone = evaluate("tiny", one, 1, {"train.batch=1"});
    sum += alone.loss * static_cast<double>(alone.labels);
    labels += alone.labels;
  }
  EXPECT_EQ(labels, 12);
  for (const char* batch : {"train.batch=1", "train.batch=2", "train.batch=3", "train.batch=4"}) {
    const Evaluation found = evaluate("tiny", all, 4, {batch});
    EXPECT_EQ(found.labels, labels) << batch;
    EXPECT_NEAR(found.loss, sum / static_cast<double>(labels), 1e-12) << batch;
  }
  const Evaluation parts = evaluate("tiny", all, 4, {"train.batch=4", "train.microbatches=2"});
  EXPECT_NEAR(parts.loss, sum / static_cast<double>(labels), 1e-12);
}

TEST_F(EvaluateModel, RefusesSamplesWithoutALabel) {
  store("tiny");
  const RowSamples none({unequal_rows().rows().back()}, 8);
  EXPECT_EQ(user_error_of([&] { evaluate("tiny", none, 1, {}); }),
            "none of the 1 samples has a label");
}

// Layers on every stage have losses of their own, which are divided by the number of labels.
TEST_F(EvaluateModel, AMixtureInStagesHasTheLossOfOneRank) {
  const RowSamples samples = unequal_rows();
  store("tiny-moe");
  const Evaluation alone = evaluate("tiny-moe", samples, 4, {});
  for (const std::string mesh : {"pp=2", "pp=2,dp=2", "pp=2,tp=2"}) {
    const Evaluation found =
        evaluate("tiny-moe", samples, 4, {"mesh=" + mesh, "train.microbatches=2"});
    EXPECT_NEAR(found.loss, alone.loss, 1e-12) << mesh;
    EXPECT_EQ(found.labels, alone.labels) << mesh;
  }
}

// Weights that are tied, whole, in shards, in stages: the loss of one rank, and on each rank about
// as much memory as the forward takes on one alone. A training step takes four times the weights.
TEST_F(EvaluateModel, OnAMeshRunsTheForwardAlone) {
  const RowSamples samples = unequal_rows();
  for (const std::string preset : {"tiny", "gpt2-124m"}) {
    store(preset);
    const Evaluation alone = evaluate(preset, samples, 4, {});
    for (const std::string mesh :
         {"dp=2", "fsdp=2", "tp=2", "pp=2", "cp=2", "fsdp=2,tp=2", "pp=2,fsdp=2"}) {
      SCOPED_TRACE(preset + " on " + mesh);
      std::vector<std::string> settings{"mesh=" + mesh, "train.microbatches=2",
                                        "plan.recompute=block"};
      if (mesh.find("fsdp") != std::string::npos) settings.emplace_back("plan.zero=3");
      const Evaluation found = evaluate(preset, samples, 4, settings);
      EXPECT_NEAR(found.loss, alone.loss, 1e-12);
      const int64_t ranks = mesh.find(',') == std::string::npos ? 2 : 4;
      EXPECT_LT(found.planned_bytes, ranks * alone.planned_bytes * 5 / 4);
    }
  }
}

}  // namespace
}  // namespace tessera
