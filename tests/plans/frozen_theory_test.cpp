// SPDX-License-Identifier: Apache-2.0
// What moves in a step, and what a rank holds, where most weights are frozen: of these the weights
// alone, in the dtype that they are used in. Sizes are multiples of 256, so that flat buffers have
// no padding.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ir/op_list.h"
#include "models/build_model.h"
#include "traffic.h"

namespace tessera {
namespace {

constexpr int64_t kLayers = 3, kWidth = 256, kHeads = 8, kHeadSize = 32, kMlp = 512,
                  kVocabulary = 1024, kBatch = 8, kSeq = 16, kRank = 8;
constexpr int64_t kTable = kVocabulary * kWidth;
constexpr int64_t kLayer = 2 * kWidth + 4 * kWidth * kWidth + 3 * kWidth * kMlp;
constexpr int64_t kBase = 2 * kTable + kWidth + kLayers * kLayer;
// Of queries, keys, values and what follows them; of gate, up and down.
constexpr int64_t kAdapters = kLayers * kRank * (4 * 2 * kWidth + 3 * (kWidth + kMlp));

ModelConfig model(int64_t rank) {
  ModelConfig config = resolved({.family = Family::Llama,
                                 .layers = kLayers,
                                 .width = kWidth,
                                 .heads = kHeads,
                                 .head_size = kHeadSize,
                                 .mlp_size = kMlp,
                                 .vocabulary = kVocabulary,
                                 .context = kSeq,
                                 .activation = Activation::Swiglu});
  config.lora.rank = rank;
  return config;
}

Program compiled(PlanRequest request, DType precision, int64_t rank,
                 std::vector<ParameterGroup> groups = {}, int microbatches = 1) {
  CompileOptions options;
  options.optimizer.groups = std::move(groups);
  options.plan = make_plan(request, {.kv_heads = kHeads});
  options.microbatches = microbatches;
  return compile(
             build_model(model(rank), {.batch = kBatch, .seq = kSeq}, precision, HeadKind::Loss),
             options)
      .program();
}

int64_t bytes(const Program& program, BufferKind kind) { return program.bytes(kind); }

TEST(FrozenWeights, HaveNoGradientNoMomentsAndNoMasterWeights) {
  const Program program = compiled({}, DType::Bf16, kRank);
  EXPECT_EQ(bytes(program, BufferKind::Parameter), 2 * (kBase + kAdapters));
  EXPECT_EQ(bytes(program, BufferKind::Gradient), 4 * kAdapters);
  EXPECT_EQ(bytes(program, BufferKind::Optimizer), (4 + 4 + 4) * kAdapters);
  for (const StateBuffer& state : program.states)
    EXPECT_EQ(state.has_gradient(), state.spec.role == StateRole::Parameter && !state.spec.frozen)
        << state.name;
}

TEST(FrozenWeights, OfAGroupHaveNoneEither) {
  const Program program = compiled({}, DType::Bf16, 0, {{.pattern = "layer.*", .frozen = true}});
  const int64_t trained = 2 * kTable + kWidth;
  EXPECT_EQ(bytes(program, BufferKind::Parameter), 2 * kBase);
  EXPECT_EQ(bytes(program, BufferKind::Gradient), 4 * trained);
  EXPECT_EQ(bytes(program, BufferKind::Optimizer), 12 * trained);
}

// Two blocks are there at once, as without adapters.
TEST(FrozenWeights, RestInShardsUnderZeroThree) {
  constexpr int kShards = 4;
  const Program program = compiled({.mesh = {{"fsdp", kShards}}, .zero = 3}, DType::Bf16, kRank);
  EXPECT_EQ(program.persistent_bytes, (2 * (kBase + kAdapters) + 12 * kAdapters) / kShards);
}

TEST(FrozenWeights, MoveNothingUnderDataParallelism) {
  for (const int microbatches : {1, 3})
    EXPECT_EQ(traffic_of(compiled({.mesh = {{"dp", 4}}}, DType::Fp32, kRank, {}, microbatches)),
              (Traffic{{"all_reduce dp", {kLayers, kAdapters}}, {"scalar", {2, 2}}}));
}

// Forward and backward gather the layers and their adapters; the embedding's table is read in the
// forward alone, and the head is still there. Gradients are of adapters.
TEST(FrozenWeights, AreGatheredUnderZeroThreeAndNeverScattered) {
  const Traffic traffic =
      traffic_of(compiled({.mesh = {{"fsdp", 4}}, .zero = 3}, DType::Fp32, kRank));
  EXPECT_EQ(traffic.at("reduce_scatter fsdp"), (Moved{kLayers, kAdapters}));
  EXPECT_EQ(traffic.at("all_gather fsdp"),
            (Moved{2 * 2 * kLayers + 2, kBase + kLayers * kLayer + 2 * kAdapters}));
}

// Of a layer: six products with frozen weights, which have the gradient of their input alone, and
// fourteen with those of adapters.
TEST(FrozenWeights, AreMultipliedWithoutAGradientOfTheirOwn) {
  const Compiled compiled = compile(
      build_model(model(kRank), {.batch = kBatch, .seq = kSeq}, DType::Fp32, HeadKind::Loss),
      {.pipeline = {.stop_after = "build_backward"}});
  int products = 0, weight_gradients = 0;
  for (const BlockClass& block_class : compiled.module.classes)
    for (const Node& node : block_class.graph.nodes()) {
      if (node.op != OpKind::matmul) continue;
      ++products;
      if (node.phase == Phase::WeightGrad) ++weight_gradients;
    }
  EXPECT_EQ(weight_gradients, 14);
  EXPECT_EQ(products, 2 * 6 + 3 * 14);
}

}  // namespace
}  // namespace tessera
