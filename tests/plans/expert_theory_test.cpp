// SPDX-License-Identifier: Apache-2.0
// What a mixture of experts moves in a step, and what a rank holds of it, against theory. Sizes are
// multiples of 256, so that flat buffers have no padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/compile.h"
#include "models/build_model.h"
#include "program/collective_table.h"
#include "program/program_work.h"
#include "traffic.h"

namespace tessera {
namespace {

constexpr int64_t kLayers = 3, kWidth = 256, kHeads = 8, kKvHeads = 4, kHeadSize = 32, kExperts = 8,
                  kTopK = 2, kExpertMlp = 128, kBatch = 8, kSeq = 16;
constexpr int64_t kTokens = kBatch * kSeq, kStream = kTokens * kWidth, kChoices = kTokens * kTopK;
// Parameters of a layer: of its experts, and of all else.
constexpr int64_t kOfExperts = kExperts * 3 * kWidth * kExpertMlp;
constexpr int64_t kDense = 2 * kWidth + 2 * kWidth * kHeads * kHeadSize +
                           2 * kWidth * kKvHeads * kHeadSize + kWidth * kExperts;

Program compiled(PlanRequest request, int microbatches = 1, int64_t shared_mlp = 0) {
  const ModelConfig config = resolved({.family = Family::Llama,
                                       .layers = kLayers,
                                       .width = kWidth,
                                       .heads = kHeads,
                                       .kv_heads = kKvHeads,
                                       .head_size = kHeadSize,
                                       .mlp_size = 512,
                                       .vocabulary = 1024,
                                       .context = kSeq,
                                       .activation = Activation::Swiglu,
                                       .experts = kExperts,
                                       .top_k = kTopK,
                                       .expert_mlp_size = kExpertMlp,
                                       .shared_mlp_size = shared_mlp});
  CompileOptions options;
  options.plan = make_plan(request, {.kv_heads = kKvHeads, .experts = kExperts});
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

// Tokens, their choices and gates come to all ranks, results go back; then the gradients.
TEST(ExpertTraffic, TokensAreGatheredOverEpAndTheirSumsScattered) {
  for (const int n : {2, 4}) {
    const Program program = compiled({.mesh = {{"ep", n}}});
    EXPECT_EQ(of_layer(program, RoutineKind::Forward),
              (Traffic{{"all_gather ep", {3, kStream + 2 * kChoices}},
                       {"reduce_scatter ep", {1, kStream}}}));
    EXPECT_EQ(of_layer(program, RoutineKind::Backward),
              (Traffic{{"all_gather ep", {2, kStream + kChoices}},
                       {"reduce_scatter ep", {2, kStream + kChoices}}}));
  }
}

// Collectives of a layer's forward during which a matmul runs.
int64_t count_overlapped(const Program& program) {
  std::map<int, bool> flying;  // by buffer: whether one has
  int64_t count = 0;
  const auto layer = std::ranges::find(program.classes, "layer", &ProgramClass::name);
  for (const Instruction& instruction : layer->routine(RoutineKind::Forward)) {
    if (is_started(instruction)) flying[awaited_buffer(instruction)] = false;
    if (name(instruction) == "matmul")
      for (auto& [buffer, worked] : flying) worked = true;
    if (const auto* wait = instruction.as<WaitInstruction>()) {
      count += flying.at(wait->held.front());
      flying.erase(wait->held.front());
    }
  }
  return count;
}

// Three gathers and the results' sum; without it the router's product hides one. Rows, their gates
// and results, but not their counts.
TEST(ExpertTraffic, IsUnderWayWhileTheSharedExpertIsComputed) {
  EXPECT_EQ(count_overlapped(compiled({.mesh = {{"ep", 2}}}, 1, 256)), 4);
  EXPECT_EQ(count_overlapped(compiled({.mesh = {{"ep", 2}}})), 1);
  const PlanRequest exchange{.mesh = {{"ep", 2}}, .dispatch = DispatchKind::Exchange};
  EXPECT_EQ(count_overlapped(compiled(exchange, 1, 256)), 3);
  EXPECT_EQ(count_overlapped(compiled(exchange)), 0);
}

TEST(ExpertTraffic, GradientsOfExpertsAreNotSummedOverEp) {
  EXPECT_EQ(of_layer(compiled({.mesh = {{"ep", 4}}}), RoutineKind::Reduce),
            (Traffic{{"all_reduce ep", {1, kDense}}}));
  EXPECT_EQ(of_layer(compiled({.mesh = {{"dp", 2}, {"ep", 4}}}), RoutineKind::Reduce),
            (Traffic{{"all_reduce dp+ep", {1, kDense}}, {"all_reduce dp", {1, kOfExperts / 4}}}));
}

TEST(ExpertTraffic, StatesOfExpertsAreScatteredOverFsdpAndAllElseOverEpToo) {
  const Program program = compiled({.mesh = {{"fsdp", 2}, {"ep", 4}}, .zero = 3});
  EXPECT_EQ(of_layer(program, RoutineKind::Reduce),
            (Traffic{{"reduce_scatter fsdp+ep", {1, kDense}},
                     {"reduce_scatter fsdp", {1, kOfExperts / 4}}}));
}

// As a dense layer's: rows are computed on in part, and summed once they are back with their
// tokens.
TEST(ExpertTraffic, TensorParallelExpertsSumTheStreamAfterTheyAreCombined) {
  const Program program = compiled({.mesh = {{"tp", 4}}});
  EXPECT_EQ(of_layer(program, RoutineKind::Forward),
            (Traffic{{"all_reduce tp", {2, 2 * kStream}}}));
  EXPECT_EQ(of_layer(program, RoutineKind::Backward),
            (Traffic{{"all_reduce tp", {3, 2 * kStream + kChoices}}}));
}

TEST(ExpertTraffic, FoldedExpertsMoveWhatThoseOfEpMove) {
  const Program program = compiled({.mesh = {{"cp", 2}, {"tp", 2}}, .experts = {"cp", "tp"}});
  const Traffic reduced = of_layer(program, RoutineKind::Reduce);
  EXPECT_EQ(reduced.size(), 1u);  // of dense weights alone
}

// "put_rows ep": calls, and the bytes that a rank puts in, of which (n-1)/n go to others. All
// layers.
using Exchanged = std::map<std::string, std::pair<int64_t, int64_t>>;
Exchanged exchanged_in(const Program& program, RoutineKind routine) {
  Exchanged found;
  for (const CollectiveRow& row : collective_table(program, program.script("train_step")))
    if (row.routine == routine && row.bytes > 0 && row.op != "all_reduce")
      found[row.op + " " + row.axes] = {row.calls, row.bytes};
  return found;
}

// Of t tokens of a rank, t k rows go to their experts and come back, with gates; so do gradients.
// Where rows are is told once.
TEST(ExpertTraffic, RowsAreExchangedFourTimesAndTheirGatesTwice) {
  for (const int n : {2, 4, 8})
    for (const int microbatches : {1, 2}) {
      const Program program =
          compiled({.mesh = {{"ep", n}}, .dispatch = DispatchKind::Exchange}, microbatches);
      const int64_t calls = kLayers * microbatches, gates = calls * 4 * kChoices / n,
                    rows = gates * kWidth;
      EXPECT_EQ(exchanged_in(program, RoutineKind::Forward),
                (Exchanged{{"all_gather ep", {calls, calls * 4 * kExperts}},
                           {"put_rows ep", {2 * calls, rows + gates}},
                           {"take_rows ep", {calls, rows}}}));
      EXPECT_EQ(
          exchanged_in(program, RoutineKind::Backward),
          (Exchanged{{"put_rows ep", {calls, rows}}, {"take_rows ep", {2 * calls, rows + gates}}}));
    }
}

// Messages whose size must be known before have room for the worst case of a pair, whatever that of
// a pool: each token may choose top_k experts of the other rank, or all of them.
TEST(ExpertTraffic, MessagesOfAPairHaveRoomForWhatItsTokensCouldChoose) {
  for (const int n : {2, 4, 8}) {
    const Program program = compiled({.mesh = {{"ep", n}}, .dispatch = DispatchKind::Exchange});
    int found = 0;
    for (const ProgramClass& each : program.classes)
      for (const std::vector<Instruction>& routine : each.routines)
        for (const Instruction& instruction : routine)
          if (const auto* moved = instruction.as<CollectiveInstruction>();
              moved && moves_rows(moved->op)) {
            EXPECT_EQ(moved->most_rows, kTokens / n * std::min<int64_t>(kTopK, kExperts / n));
            ++found;
          }
    EXPECT_EQ(found, 9);  // forward, backward and evaluation
  }
}

TEST(ExpertTraffic, FoldedExpertsExchangeRowsOverAllOfTheirAxes) {
  const Program program = compiled({.mesh = {{"ep", 2}, {"tp", 2}},
                                    .experts = {"ep", "tp"},
                                    .dispatch = DispatchKind::Exchange,
                                    .sequence_parallel = true});
  const int64_t gates = kLayers * 4 * kChoices / 4;
  EXPECT_EQ(exchanged_in(program, RoutineKind::Forward)["put_rows ep+tp"],
            (std::pair{2 * kLayers, gates * (kWidth + 1)}));
}

TEST(ExpertTraffic, GradientsOfExpertsAreNotSummedOverEpWhereRowsAreExchanged) {
  const Program program =
      compiled({.mesh = {{"dp", 2}, {"ep", 4}}, .dispatch = DispatchKind::Exchange});
  EXPECT_EQ(of_layer(program, RoutineKind::Reduce),
            (Traffic{{"all_reduce dp+ep", {1, kDense}}, {"all_reduce dp", {1, kOfExperts / 4}}}));
}

// Work is counted by the rows that come, not by those that there is room for. Updates of copies are
// a little more.
TEST(ExpertWork, OfAllRanksIsThatOfOne) {
  const auto flops = [](PlanRequest request) {
    const Program program = compiled(std::move(request));
    return work_of(std::span(&program, 1), "train_step").flops;
  };
  const double one = flops({});
  EXPECT_NEAR(flops({.mesh = {{"ep", 4}}}), one, 0.1 * one);
  EXPECT_NEAR(flops({.mesh = {{"dp", 2}, {"ep", 2}}}), one, 0.1 * one);
  EXPECT_NEAR(flops({.mesh = {{"ep", 4}}, .dispatch = DispatchKind::Exchange}), one, 0.1 * one);
}

// Each rank has room for all rows that could come to its experts, and states of those alone.
TEST(ExpertMemory, StatesOfExpertsAreDividedByEpAndFsdp) {
  const auto optimizer = [](PlanRequest request) {
    return compiled(std::move(request)).bytes(BufferKind::Optimizer);
  };
  const int64_t whole = optimizer({}), two = 2 * 4;  // moments of fp32
  EXPECT_EQ(whole - optimizer({.mesh = {{"ep", 4}}}), two * kLayers * kOfExperts * 3 / 4);
  EXPECT_EQ(optimizer({.mesh = {{"fsdp", 2}, {"ep", 4}}, .zero = 1}), whole / 8);
}

}  // namespace
}  // namespace tessera
