// SPDX-License-Identifier: Apache-2.0
// What moves in a step, and what a rank holds, against what the theory of each parallelism says.
// Sizes are multiples of 256, so that flat buffers have no padding.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "models/build_model.h"
#include "traffic.h"

namespace tessera {
namespace {

constexpr int64_t kLayers = 3, kWidth = 256, kHeads = 8, kKvHeads = 4, kHeadSize = 32, kMlp = 512,
                  kVocabulary = 1024, kBatch = 8, kSeq = 16;
constexpr int64_t kStream = kBatch * kSeq * kWidth;  // elements of the residual stream
constexpr int64_t kKeys = kBatch * kSeq * kKvHeads * kHeadSize;
constexpr int64_t kQueries = kBatch * kSeq * kHeads * kHeadSize;

// Parameters by block.
constexpr int64_t kTable = kVocabulary * kWidth;
constexpr int64_t kLayer = 2 * kWidth + 2 * kWidth * kHeads * kHeadSize +
                           2 * kWidth * kKvHeads * kHeadSize + 3 * kWidth * kMlp;
constexpr int64_t kAllLayers = kLayers * kLayer;
constexpr int64_t kHead = kWidth + kTable;
constexpr int64_t kAll = kTable + kAllLayers + kHead;

struct Model {
  int64_t vocabulary = kVocabulary;
  bool tied = false;

  int64_t table() const { return vocabulary * kWidth; }
  int64_t all() const { return table() + kAllLayers + kWidth + (tied ? 0 : table()); }
  int64_t largest_block() const { return std::max(kLayer, table() + (tied ? 0 : kWidth)); }
  // A tied table's gradient, which the head begins, is alive through the whole backward.
  int64_t unreduced() const {
    return tied ? std::max(2 * largest_block(), table() + 2 * kLayer) : 2 * largest_block();
  }
};

Program compiled(PlanRequest request, int microbatches = 1, Model model = {}) {
  const ModelConfig config = resolved({.family = Family::Llama,
                                       .layers = kLayers,
                                       .width = kWidth,
                                       .heads = kHeads,
                                       .kv_heads = kKvHeads,
                                       .head_size = kHeadSize,
                                       .mlp_size = kMlp,
                                       .vocabulary = model.vocabulary,
                                       .context = kSeq,
                                       .activation = Activation::Swiglu,
                                       .tied = model.tied});
  CompileOptions options;
  options.plan = make_plan(request, {.kv_heads = kKvHeads});
  options.microbatches = microbatches;
  return compile(build_model(config, {.batch = kBatch, .seq = kSeq}, DType::Fp32, HeadKind::Loss),
                 options)
      .program();
}

Traffic of_layer(const Program& program, RoutineKind routine) {
  return traffic_of(program, "train_step", [&](const ScriptCall& call) {
    return call.routine == routine && call.microbatch == 0 &&
           program.blocks[static_cast<size_t>(call.block)].name == "layer.1";
  });
}

TEST(Traffic, OneRankMovesNothing) { EXPECT_EQ(traffic_of(compiled({})), Traffic{}); }

// Blocks: the embedding, the layers, the head.
TEST(Traffic, DataParallelismSumsEveryGradientOncePerStep) {
  for (const int microbatches : {1, 3})
    EXPECT_EQ(traffic_of(compiled({.mesh = {{"dp", 4}}}, microbatches)),
              (Traffic{{"all_reduce dp", {kLayers + 2, kAll}}, {"scalar", {2, 2}}}));
}

TEST(Traffic, ZeroOneScattersGradientsAndGathersWeightsOncePerStep) {
  for (const int microbatches : {1, 3})
    EXPECT_EQ(traffic_of(compiled({.mesh = {{"dp", 8}}, .zero = 1}, microbatches)),
              (Traffic{{"reduce_scatter dp", {kLayers + 2, kAll}},
                       {"all_gather dp", {kLayers + 2, kAll}},
                       {"scalar", {3, 3}}}));
}

TEST(Traffic, ZeroTwoScattersTheGradientsOfEachMicrobatch) {
  for (const int n : {1, 3})
    EXPECT_EQ(traffic_of(compiled({.mesh = {{"dp", 8}}, .zero = 2}, n)),
              (Traffic{{"reduce_scatter dp", {n * (kLayers + 2), n * kAll}},
                       {"all_gather dp", {kLayers + 2, kAll}},
                       {"scalar", {3, 3}}}));
}

// Forward gathers all. The backward has the head still from the forward, and the gradient of an
// embedding does not read its table: 2 P - head - embedding.
TEST(Traffic, ZeroThreeGathersForwardAndBackwardAndScattersGradients) {
  for (const int n : {1, 3})
    EXPECT_EQ(traffic_of(compiled({.mesh = {{"fsdp", 8}}, .zero = 3}, n)),
              (Traffic{{"reduce_scatter fsdp", {n * (kLayers + 2), n * kAll}},
                       {"all_gather fsdp", {n * (2 * kLayers + 2), n * (kAll + kAllLayers)}},
                       {"scalar", {3, 3}}}));
}

// A tied head's backward reads the embedding's table, which is gathered for it once more; only the
// head's norm is still there: 2 P - norm. With the gradients that is 3 P.
TEST(Traffic, ZeroThreeOfATiedModelMovesThreeTimesItsParameters) {
  const int64_t all = kTable + kAllLayers + kWidth;
  for (const int n : {1, 3})
    EXPECT_EQ(traffic_of(compiled({.mesh = {{"fsdp", 8}}, .zero = 3}, n, {.tied = true})),
              (Traffic{{"reduce_scatter fsdp", {n * (kLayers + 2), n * all}},
                       {"all_gather fsdp", {n * (2 * kLayers + 3), n * (2 * all - kWidth)}},
                       {"scalar", {3, 3}}}));
}

TEST(Traffic, HybridShardingSumsOnlyShardsAcrossGroups) {
  const Traffic traffic = traffic_of(compiled({.mesh = {{"dp", 2}, {"fsdp", 4}}, .zero = 3}));
  EXPECT_EQ(traffic.at("reduce_scatter fsdp"), (Moved{kLayers + 2, kAll}));
  EXPECT_EQ(traffic.at("all_reduce dp"), (Moved{kLayers + 2, kAll / 4}));
}

TEST(Traffic, AnAxisOfExpertsIsOneMoreOfSamplesWhereThereAreNone) {
  EXPECT_EQ(traffic_of(compiled({.mesh = {{"ep", 4}}})),
            (Traffic{{"all_reduce ep", {kLayers + 2, kAll}}, {"scalar", {2, 2}}}));
  const Traffic traffic =
      traffic_of(compiled({.mesh = {{"dp", 2}, {"fsdp", 2}, {"ep", 2}}, .zero = 3}));
  EXPECT_EQ(traffic.at("reduce_scatter fsdp+ep"), (Moved{kLayers + 2, kAll}));
  EXPECT_EQ(traffic.at("all_gather fsdp+ep"), (Moved{2 * kLayers + 2, kAll + kAllLayers}));
  EXPECT_EQ(traffic.at("all_reduce dp"), (Moved{kLayers + 2, kAll / 4}));
}

TEST(Traffic, TensorParallelismSumsTheStreamTwicePerLayerAndDirection) {
  const Program program = compiled({.mesh = {{"tp", 4}}});
  EXPECT_EQ(of_layer(program, RoutineKind::Forward),
            (Traffic{{"all_reduce tp", {2, 2 * kStream}}}));
  EXPECT_EQ(of_layer(program, RoutineKind::Backward),
            (Traffic{{"all_reduce tp", {2, 2 * kStream}}}));
  // The embedding's pending lookup; of the head's rows the largest, two sums and the gradient of
  // its stream. No gradient of a weight moves.
  const int64_t rows = kBatch * kSeq;
  EXPECT_EQ(traffic_of(program),
            (Traffic{{"all_reduce tp", {4 * kLayers + 4, (4 * kLayers + 2) * kStream + 3 * rows}},
                     {"scalar", {1, 1}}}));
}

// As many elements on the wire as the sums they replace. The backward gathers once more what
// weight gradients read: gathered copies do not outlive the forward.
TEST(Traffic, SequenceParallelismScattersAndGathersInstead) {
  const Program program = compiled({.mesh = {{"tp", 4}}, .sequence_parallel = true});
  EXPECT_EQ(
      of_layer(program, RoutineKind::Forward),
      (Traffic{{"all_gather tp", {2, 2 * kStream}}, {"reduce_scatter tp", {2, 2 * kStream}}}));
  EXPECT_EQ(
      of_layer(program, RoutineKind::Backward),
      (Traffic{{"all_gather tp", {4, 4 * kStream}}, {"reduce_scatter tp", {2, 2 * kStream}}}));
}

// Keys and values of n - 1 other ranks, (n - 1) / n of all; with them two words per position.
TEST(Traffic, ARingShiftsKeysAndValuesOncePerHop) {
  for (const int n : {2, 4}) {
    const Program program = compiled({.mesh = {{"cp", n}}});
    const int64_t keys = kKeys / n, words = kBatch * kSeq / n;
    EXPECT_EQ(of_layer(program, RoutineKind::Forward),
              (Traffic{{"shift cp", {4 * (n - 1), 2 * (n - 1) * (keys + words)}}}));
    // Their gradients travel along, and one hop further, home.
    EXPECT_EQ(of_layer(program, RoutineKind::Backward),
              (Traffic{{"shift cp",
                        {4 * (n - 1) + 2 * n, 2 * (n - 1) * (keys + words) + 2 * n * keys}}}));
  }
}

// q, k and v to heads and o back; backward q, k, v and o again, the gradient of o, and three
// gradients back.
TEST(Traffic, UlyssesExchangesQueriesKeysAndValues) {
  const int n = 4;
  const Program program = compiled({.mesh = {{"cp", n}}, .context = ContextKind::Ulysses});
  EXPECT_EQ(of_layer(program, RoutineKind::Forward),
            (Traffic{{"all_to_all cp", {4, (2 * kQueries + 2 * kKeys) / n}}}));
  EXPECT_EQ(of_layer(program, RoutineKind::Backward),
            (Traffic{{"all_to_all cp", {8, (4 * kQueries + 4 * kKeys) / n}}}));
}

constexpr int64_t kWord = 4;  // bytes of fp32
constexpr int kRanks = 8;

struct Held {
  int64_t parameters, gradients, optimizer;
  bool operator==(const Held&) const = default;
};

Held held(int zero, Model model = {}, int microbatches = 1) {
  const Program program = compiled({.mesh = {{"dp", kRanks}}, .zero = zero}, microbatches, model);
  return {program.bytes(BufferKind::Parameter), program.bytes(BufferKind::Gradient),
          program.bytes(BufferKind::Optimizer)};
}

void expect_at_most(const Held& got, const Held& most) {
  EXPECT_LE(got.parameters, most.parameters);
  EXPECT_LE(got.gradients, most.gradients);
  EXPECT_LE(got.optimizer, most.optimizer);
}

TEST(PlannedBytes, ZeroZeroHoldsEverythingWhole) {
  EXPECT_EQ(held(0), (Held{kWord * kAll, kWord * kAll, 2 * kWord * kAll}));
}

TEST(PlannedBytes, ZeroOneHoldsAShardOfTheOptimizerState) {
  EXPECT_EQ(held(1), (Held{kWord * kAll, kWord * kAll, 2 * kWord * kAll / kRanks}));
}

// Tied or not, and with an embedding that is smaller or larger than a layer.
std::vector<Model> models() {
  return {{}, {.tied = true}, {.vocabulary = 4096}, {.vocabulary = 4096, .tied = true}};
}

TEST(PlannedBytes, ZeroTwoHoldsAShardOfTheGradientsAndTwoBlocksUnreduced) {
  for (const Model& model : models())
    for (const int microbatches : {1, 3})
      expect_at_most(held(2, model, microbatches),
                     {kWord * model.all(), kWord * (model.all() / kRanks + model.unreduced()),
                      2 * kWord * model.all() / kRanks});
}

TEST(PlannedBytes, ZeroThreeHoldsAShardOfEverythingAndTwoBlocksInUse) {
  for (const Model& model : models())
    for (const int microbatches : {1, 3}) {
      const int64_t shard = model.all() / kRanks;
      expect_at_most(held(3, model, microbatches),
                     {kWord * (shard + 2 * model.largest_block()),
                      kWord * (shard + model.unreduced()), 2 * kWord * shard});
    }
}

TEST(PlannedBytes, KindsAddUpToTheArenas) {
  for (const int zero : {0, 1, 2, 3}) {
    const Program program = compiled({.mesh = {{"dp", kRanks}}, .zero = zero});
    int64_t sum = 0;
    for (const int64_t bytes : program.bytes_by_kind) sum += bytes;
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(program.peak_bytes()), 1024)
        << "zero " << zero;
  }
}

// Stage by stage all forwards, then all backwards: two runs, a block between others is gathered in
// both. Where that is too much to hold, every microbatch gathers in both directions.
TEST(TheoryOfZero3, APipelineGathersOncePerRunIfThatFits) {
  const ModelConfig config = resolved({.family = Family::Mlp, .layers = 8, .width = kWidth});
  constexpr int kMicrobatches = 4;
  const auto gathers = [&](int64_t memory) {
    CompileOptions options;
    options.plan =
        make_plan({.mesh = {{"pp", 2}, {"fsdp", 2}}, .zero = 3, .schedule = "gpipe"}, {});
    options.profile.memory_bytes = memory;
    options.microbatches = kMicrobatches;
    const Compiled compiled =
        compile(build_model(config, {.batch = 2, .seq = 1}, DType::Fp32, HeadKind::Loss), options);
    return std::pair(gathers_per_step(compiled.programs.front()),
                     gathers_text(compiled.programs.front()));
  };
  EXPECT_EQ(gathers(0), std::pair(2, std::string("a block's weights are gathered at most 2 times a "
                                                 "step, once for each run of microbatches on it")));
  EXPECT_EQ(gathers(1).first, 2 * kMicrobatches);
  EXPECT_EQ(gathers(1).second.find("whole runs do not fit") == std::string::npos, false);
}

}  // namespace
}  // namespace tessera
