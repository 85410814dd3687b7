// SPDX-License-Identifier: Apache-2.0
// Mixtures that are dense models in disguise, and what microbatches and threads must not change.
#include <gtest/gtest.h>

#include <cmath>

#include "exec/testing/small_run.h"
#include "exec/train_step.h"

namespace tessera {
namespace {

using States = std::map<std::string, std::vector<std::byte>>;

SmallModel dense(int64_t mlp_size) {
  SmallModel model = small_model("Llama");
  model.config.mlp_size = mlp_size;
  return model;
}

SmallModel mixture(int64_t experts, int64_t top_k, int64_t expert_mlp_size) {
  SmallModel model = dense(expert_mlp_size);
  model.config.experts = experts;
  model.config.top_k = top_k;
  return model;
}

// States of a dense model as those of a mixture with one expert.
States with_one_expert(const States& dense, States mixture) {
  for (auto& [name, bytes] : mixture) {
    std::string plain = name;
    if (const size_t at = plain.find("expert_"); at != std::string::npos) plain.erase(at, 7);
    if (const auto found = dense.find(plain); found != dense.end()) bytes = found->second;
  }
  return mixture;
}

TEST(Mixture, OfOneExpertIsTheDenseModelToTheBit) {
  for (const Precision precision : {Precision(DType::Fp32), Precision(DType::Bf16)}) {
    // The norm of the gradients is summed over other parameters, in another order.
    const SmallRunOptions options{
        .precision = precision, .microbatches = 2, .optimizer = {.clip_norm = 0}};
    SmallRun plain(dense(24), options), routed(mixture(1, 1, 24), options);
    routed.write_states(with_one_expert(plain.states(), routed.states()));
    EXPECT_EQ(routed.losses(4), plain.losses(4)) << name(precision.compute);
    EXPECT_EQ(with_one_expert(plain.states(), routed.states()), routed.states());
  }
}

// Experts side by side are one mlp. A router of zeros weighs them equally.
TEST(Mixture, OfWhichEveryExpertIsChosenIsADenseLayer) {
  constexpr int64_t kExperts = 3, kInner = 8, kWidth = 16;
  SmallRun plain(dense(kExperts * kInner), {}), routed(mixture(kExperts, kExperts, kInner), {});
  const States from = plain.states();
  States to = routed.states();
  for (auto& [name, bytes] : to) {
    auto* values = reinterpret_cast<double*>(bytes.data());
    const auto count = static_cast<int64_t>(bytes.size() / sizeof(double));
    const auto value_of = [&](const std::string& leaf, int64_t i) {
      const std::string block = name.substr(0, name.rfind('.') + 1);
      return reinterpret_cast<const double*>(from.at(block + leaf).data())[i];
    };
    if (from.contains(name)) bytes = from.at(name);
    if (name.ends_with(".router")) std::fill_n(values, count, 0.0);
    for (int64_t i = 0; name.ends_with(".expert_gate_up") && i < count; ++i) {
      const int64_t expert = i / (kWidth * 2 * kInner), row = i / kInner % (kWidth * 2);
      values[i] = value_of("gate_up", (row * kExperts + expert) * kInner + i % kInner);
    }
    for (int64_t i = 0; name.ends_with(".expert_down") && i < count; ++i)
      values[i] = kExperts * value_of("down", i);
  }
  routed.write_states(to);
  EXPECT_NEAR(routed.train_step(1), plain.train_step(1), 1e-14);
  const auto expected = plain.gradients(), gradients = routed.gradients();
  for (const auto& [name, values] : expected) {
    if (!gradients.contains(name)) continue;
    EXPECT_LE(relative_error(gradients.at(name), values), 1e-11) << name;
  }
}

SmallModel with_losses() {
  SmallModel model = mixture(5, 2, 12);
  model.config.shared_mlp_size = 6;
  model.config.dense_layers = 1;
  model.config.layers = 3;
  model.config.balance_loss = 0.5;
  model.config.router_z_loss = 0.1;
  return model;
}

TEST(Mixture, HasLossesThatMicrobatchesDoNotChange) {
  SmallRun once(with_losses(), {.batch = 4, .microbatches = 1, .poison = true}),
      twice(with_losses(), {.batch = 2, .microbatches = 2, .poison = true});
  EXPECT_NEAR(once.train_step(1), twice.train_step(1), 1e-14);
  for (const char* loss : {"balance_loss", "z_loss"}) {
    EXPECT_GT(once.executor().read_step(loss), 0) << loss;
    EXPECT_NEAR(once.executor().read_step(loss), twice.executor().read_step(loss), 1e-13) << loss;
  }
  const auto expected = once.gradients(), gradients = twice.gradients();
  for (const auto& [name, values] : expected)
    EXPECT_LE(relative_error(gradients.at(name), values), 1e-11) << name;
}

TEST(Mixture, TrainsTheSameBitsOnAnyNumberOfThreads) {
  for (const Precision precision : kPrecisions) {
    SmallRun one(with_losses(), {.precision = precision, .threads = 1}),
        three(with_losses(), {.precision = precision, .threads = 3});
    EXPECT_EQ(one.losses(3), three.losses(3));
    EXPECT_EQ(one.states(), three.states());
  }
}

SmallModel with_bias() {
  SmallModel model = with_losses();
  model.config.balance_rate = 0.25;
  return model;
}

std::vector<double> values_of(const States& states, const std::string& name) {
  const std::vector<std::byte>& bytes = states.at(name);
  const auto* values = reinterpret_cast<const double*>(bytes.data());
  return {values, values + bytes.size() / sizeof(double)};
}

TEST(RouterBias, MovesByTheRateAgainstTheLoadsOfTheStep) {
  SmallRun run(with_bias(), {.batch = 4, .microbatches = 3, .poison = true});
  ASSERT_FALSE(run.states().contains("layer.0.router_bias")) << "a dense layer";
  const std::vector<double> before = values_of(run.states(), "layer.1.router_bias");
  EXPECT_EQ(before, std::vector<double>(5, 0.0));
  run.train_step(1);
  const std::vector<ExpertLoad> loads = read_expert_loads(run.executor());
  ASSERT_EQ(loads.size(), 2U);
  for (const ExpertLoad& layer : loads) {
    const std::vector<double> bias = values_of(run.states(), layer.block + ".router_bias");
    for (size_t e = 0; e < bias.size(); ++e) {
      const double less = layer.mean() - layer.counts[e];
      EXPECT_EQ(bias[e], less > 0 ? 0.25 : less < 0 ? -0.25 : 0) << layer.block << " " << e;
    }
    EXPECT_EQ(layer.mean() * 5, 2.0 * 3 * 4 * static_cast<double>(with_bias().seq))
        << "two experts of each token";
  }
}

TEST(RouterBias, IsNotMovedByAnEvaluation) {
  SmallRun run(with_bias(), {});
  run.train_step(1);
  const States before = run.states();
  run.evaluate(1);
  EXPECT_EQ(run.states(), before);
}

TEST(RouterBias, ChoosesAndDoesNotWeigh) {
  // Equal biases choose what no bias chooses; in the gates they would make a difference.
  SmallRun plain(with_bias(), {}), raised(with_bias(), {});
  States states = raised.states();
  for (auto& [name, bytes] : states)
    if (name.ends_with(".router_bias"))
      std::fill_n(reinterpret_cast<double*>(bytes.data()), bytes.size() / sizeof(double), 3.0);
  raised.write_states(states);
  EXPECT_EQ(raised.train_step(1), plain.train_step(1));
}

TEST(RouterBias, StaysWhereNothingIsLearnt) {
  SmallRun run(with_bias(), {});
  States states = run.states();
  const States first = states;
  std::fill_n(reinterpret_cast<double*>(states.at("head.norm").data()), 1, INFINITY);
  run.write_states(states);
  run.train_step(1);
  EXPECT_EQ(values_of(run.states(), "layer.1.router_bias"),
            values_of(first, "layer.1.router_bias"));
}

}  // namespace
}  // namespace tessera
