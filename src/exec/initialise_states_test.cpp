// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/convert_elements.h"
#include "exec/testing/small_run.h"

namespace tessera {
namespace {

std::vector<double> state(const SmallRun& run, const std::string& name) {
  const StateBuffer* buffer = run.program().find_state(name);
  return to_doubles(buffer->type, run.states().at(name));
}

TEST(InitialiseStates, WeightsDependOnSeedAndNameAlone) {
  SmallRun run(small_model("Llama"), {.precision = DType::Fp64});
  SmallModel deeper = small_model("Llama");
  deeper.config.layers = 3;
  SmallRun other(deeper, {.precision = DType::Fp64, .batch = 5});
  EXPECT_EQ(state(run, "layer.1.wq"), state(other, "layer.1.wq"));
  EXPECT_NE(state(run, "layer.1.wq"), state(run, "layer.0.wq"));
  const auto before = state(run, "layer.1.wq");
  initialise_states(run.executor(), 8);
  EXPECT_NE(state(run, "layer.1.wq"), before);
}

TEST(InitialiseStates, NarrowDtypesRoundTheSameNumbers) {
  const auto weights = [](Precision precision) {
    return state(SmallRun(small_model("Llama"), {.precision = precision}), "embedding.table");
  };
  const std::vector<double> wide = weights(DType::Fp64), fp32 = weights(DType::Fp32),
                            bf16 = weights(DType::Bf16);
  for (size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(fp32[i], static_cast<double>(static_cast<float>(wide[i])));
    EXPECT_EQ(bf16[i], static_cast<double>(to_float(to_bf16(static_cast<float>(wide[i])))));
  }
}

TEST(InitialiseStates, MastersAndAveragesBeginUnroundedAndMomentsAtZero) {
  SmallRun run(small_model("Llama"), {.precision = DType::Bf16, .optimizer = {.ema_decay = 0.9}});
  SmallRun fp32(small_model("Llama"), {.precision = DType::Fp32});
  EXPECT_EQ(state(run, "layer.0.wq.master"), state(fp32, "layer.0.wq"));
  EXPECT_EQ(state(run, "layer.0.wq.average"), state(fp32, "layer.0.wq"));
  for (const char* moment : {"layer.0.wq.moment1", "layer.0.wq.moment2"})
    for (const double value : state(run, moment)) EXPECT_EQ(value, 0.0);
  for (const double value : state(run, "layer.0.attention_norm")) EXPECT_EQ(value, 1.0);
}

TEST(InitialiseStates, DeviationsAreThoseOfTheModel) {
  SmallModel model = small_model("Llama");
  model.config.vocabulary = 2000;
  SmallRun run(model, {.precision = DType::Fp64});
  double squares = 0;
  const std::vector<double> table = state(run, "embedding.table");
  for (const double value : table) squares += value * value;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(table.size())), 0.1, 0.002);
}

}  // namespace
}  // namespace tessera
