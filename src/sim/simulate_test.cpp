// SPDX-License-Identifier: Apache-2.0
#include "sim/simulate.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/compile.h"
#include "core/error.h"
#include "exec/testing/small_models.h"
#include "ir/op_list.h"
#include "models/build_model.h"
#include "models/presets.h"
#include "program/testing/trace_slices.h"
#include "sim/stage_hops.h"
#include "sim/testing/toy_cluster.h"

namespace tessera {
namespace {

// Buffers of 100 floats: an `add` reads two and writes one, 1,200 bytes, 1.2 s of a toy device.
class ToyProgram {
 public:
  explicit ToyProgram(std::vector<Axis> mesh) {
    program_.mesh = Mesh(std::move(mesh));
    program_.pipeline_axis = program_.mesh.find("pp");
    program_.classes.push_back({.name = "toy", .buffers = {}, .routines = {}});
    program_.blocks.push_back({.name = "toy", .class_index = 0, .offsets = {}, .repeats = {}});
    ScriptCall call{};
    call.routine = RoutineKind::Forward;
    program_.scripts.push_back({.name = "train_step", .calls = {call}});
  }

  ToyProgram& kernel() {
    return add({.what = KernelInstruction{
                    .op = OpKind::add, .operands = {buffer(), buffer()}, .results = {buffer()}}});
  }
  ToyProgram& all_reduce(const std::string& axes, bool async) {
    filled_ = buffer();
    program_.groups.push_back(parse_group(program_.mesh, axes));
    return add(
        {.what = CollectiveInstruction{.op = CollectiveOp::AllReduce,
                                       .group = static_cast<GroupId>(program_.groups.size()) - 1,
                                       .async = async,
                                       .input = buffer(),
                                       .output = filled_}});
  }
  ToyProgram& copy() {
    return add({.what = CopyInstruction{.input = buffer(), .output = buffer()}});
  }
  ToyProgram& wait() {
    return add({.what = WaitInstruction{.held = {filled_}, .output = filled_}});
  }
  const Program& get() const { return program_; }

 private:
  int buffer() {
    std::vector<Buffer>& buffers = program_.classes.front().buffers;
    buffers.push_back({.name = "b", .type = {DType::Fp32, {{"x", 100}}}});
    program_.blocks.front().offsets.push_back(static_cast<int64_t>(buffers.size()) * 400);
    program_.blocks.front().repeats.push_back(Repeat::Once);
    return static_cast<int>(buffers.size()) - 1;
  }
  ToyProgram& add(Instruction instruction) {
    program_.classes.front().routine(RoutineKind::Forward).push_back(std::move(instruction));
    return *this;
  }

  Program program_;
  int filled_ = 0;
};

Simulation simulate(const Program& program, const Cluster& cluster,
                    const SimulateOptions& options = {}) {
  return tessera::simulate(std::span(&program, 1), cluster, options);
}

// A kernel, a sum that starts after it, a kernel during the sum, and the wait.
Program overlapping() {
  return ToyProgram({{"dp", 2}}).kernel().all_reduce("dp", true).kernel().wait().get();
}

Program compiled(std::vector<Axis> mesh, int64_t batch, int zero = 0, int microbatches = 1) {
  return compile(small_model("Llama").build(DType::Fp32, batch),
                 {.plan = make_plan({.mesh = std::move(mesh), .zero = zero}, {.kv_heads = 2}),
                  .microbatches = microbatches})
      .program();
}

TEST(Simulate, KernelsOfOneRankAddUp) {
  const Simulation simulation = simulate(ToyProgram({}).kernel().kernel().get(), toy_cluster());
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 2.4);
  EXPECT_DOUBLE_EQ(simulation.ranks.front().times.compute_seconds, 2.4);
  EXPECT_DOUBLE_EQ(simulation.times.exposed_communication_seconds, 0);
}

// Kernels of 1.2 s each: a host that takes 0.5 s for one is ahead of the device, one that takes 2 s
// is not.
TEST(Simulate, ADeviceWaitsForAnEagerHostThatIsSlowerThanItsKernels) {
  const Program program = ToyProgram({}).kernel().kernel().get();
  const auto seconds = [&](double eager) {
    SimulateOptions options;
    options.eager_seconds = eager;
    const Simulation simulation = tessera::simulate({&program, 1}, toy_cluster(), options);
    EXPECT_DOUBLE_EQ(simulation.times.compute_seconds, simulation.step_seconds);
    return simulation.step_seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(0), 2.4);
  EXPECT_DOUBLE_EQ(seconds(0.5), 0.5 + 2.4);
  EXPECT_DOUBLE_EQ(seconds(2), 2 * 2 + 1.2);
}

TEST(Simulate, ACopyReadsAndWritesItsBytes) {
  const Simulation simulation = simulate(ToyProgram({}).kernel().copy().get(), toy_cluster());
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 1.2 + 0.8);
}

TEST(Simulate, ASumIsHiddenBehindTheKernelBesideIt) {
  // The sum: two hops of 0.5 s and 200 bytes, from 1.2 to 4.2; the concurrent kernel ends at 2.4.
  const Simulation simulation = simulate(overlapping(), toy_cluster());
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 4.2);
  EXPECT_DOUBLE_EQ(simulation.times.exposed_communication_seconds, 1.8);
  EXPECT_DOUBLE_EQ(simulation.ranks.front().communication_seconds, 3);
  EXPECT_DOUBLE_EQ(simulation.times.bubble_seconds, 0);
}

TEST(Simulate, ASumThatEndsBeforeTheKernelCostsNothing) {
  Cluster cluster = toy_cluster();
  cluster.levels.front().bandwidth.value = 2000;
  cluster.levels.front().latency_seconds.value = 0.1;
  const Simulation simulation = simulate(overlapping(), cluster);
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 2.4);
  EXPECT_DOUBLE_EQ(simulation.times.exposed_communication_seconds, 0);
}

TEST(Simulate, AKernelBesideATransferIsSlowedByItsShare) {
  Cluster cluster = toy_cluster();
  cluster.device.overlap_slowdown.value = 0.5;
  const Simulation simulation = simulate(overlapping(), cluster);
  EXPECT_DOUBLE_EQ(simulation.ranks.front().times.compute_seconds, 3);
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 4.2);
  EXPECT_DOUBLE_EQ(simulation.times.exposed_communication_seconds, 1.2);
}

TEST(Simulate, AKernelIsSlowedNoLongerThanTheTransferLasts) {
  // The sum takes 0.4 s of the second kernel's 1.2 s.
  Cluster cluster = toy_cluster();
  cluster.levels.front().bandwidth.value = 2000;
  cluster.levels.front().latency_seconds.value = 0.1;
  cluster.device.overlap_slowdown.value = 0.5;
  EXPECT_DOUBLE_EQ(simulate(overlapping(), cluster).step_seconds, 2.4 + 0.5 * 0.4);
}

TEST(Simulate, BytesThatRanksMoveThemselvesAreNeverHidden) {
  Cluster cluster = toy_cluster();
  cluster.moves_in_wait = true;
  const Simulation simulation = simulate(overlapping(), cluster);
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 5.4);
  EXPECT_DOUBLE_EQ(simulation.times.exposed_communication_seconds, 3);
}

TEST(Simulate, CollectivesShareOneStreamInOrder) {
  Program program =
      ToyProgram({{"dp", 2}}).all_reduce("dp", true).all_reduce("dp", true).wait().get();
  EXPECT_DOUBLE_EQ(simulate(program, toy_cluster()).step_seconds, 6);
}

TEST(Simulate, CollectivesOfDifferentLevelsGoSideBySide) {
  // A sum of two ranks takes 6 s inside a node and 44 s between nodes; the second is waited for.
  const auto step = [](const std::string& first, const std::string& second) {
    const Program program = ToyProgram({{"dp", 2}, {"cp", 2}, {"tp", 2}})
                                .all_reduce(first, true)
                                .all_reduce(second, true)
                                .wait()
                                .get();
    return simulate(program, toy_nodes()).step_seconds;
  };
  EXPECT_DOUBLE_EQ(step("dp", "tp"), 6);
  EXPECT_DOUBLE_EQ(step("cp", "tp"), 12);
}

TEST(Simulate, TheFasterStageWaitsInABubble) {
  const std::vector<Program> programs{
      ToyProgram({{"pp", 2}}).kernel().all_reduce("pp", false).get(),
      ToyProgram({{"pp", 2}}).kernel().kernel().all_reduce("pp", false).kernel().get()};
  const Simulation simulation = tessera::simulate(programs, toy_cluster(), {});
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 2.4 + 3 + 1.2);
  EXPECT_DOUBLE_EQ(simulation.ranks[0].times.bubble_seconds,
                   2.4);  // before the sum, and at the end
  EXPECT_DOUBLE_EQ(simulation.ranks[0].times.exposed_communication_seconds, 3);
  EXPECT_DOUBLE_EQ(simulation.ranks[1].times.bubble_seconds, 0);
  EXPECT_DOUBLE_EQ(simulation.times.bubble_seconds, 1.2);
  EXPECT_EQ(simulation.ranks[1].rank, 1);
}

// Two stages of a pipeline: nodes of four ranks send 200 bytes in 1 + 2 s, between nodes in 2 + 20
// s.
double hop_seconds(std::vector<Axis> mesh, int from, int to, bool split_sends = false) {
  Program program;
  program.mesh = Mesh(std::move(mesh));
  program.pipeline_axis = program.mesh.find("pp");
  program.channels = {{.name = "stream", .from = from, .to = to}};
  const Cluster nodes = toy_nodes();
  return StageHops(program, nodes, split_sends).seconds(0, 200);
}

TEST(StageHops, TakeTheLinksBetweenTheTwoStagesAlone) {
  EXPECT_DOUBLE_EQ(hop_seconds({{"pp", 8}}, 2, 3), 3);
  EXPECT_DOUBLE_EQ(hop_seconds({{"pp", 8}}, 3, 4), 22);
  EXPECT_DOUBLE_EQ(hop_seconds({{"pp", 8}}, 7, 0), 22);
  EXPECT_DOUBLE_EQ(hop_seconds({{"pp", 2}, {"dp", 4}}, 0, 1), 22);
  // A part of 50 bytes each, and three hops of a gather in the node.
  EXPECT_DOUBLE_EQ(hop_seconds({{"pp", 2}, {"tp", 4}}, 0, 1, true), 2 + 5 + 3 * (1 + 0.5));
}

std::vector<Program> pipeline(const std::string& schedule, double clip_norm,
                              RecomputeKind recompute = RecomputeKind::None) {
  SmallModel model = small_model("Llama");
  CompileOptions options;
  options.plan =
      make_plan({.mesh = {{"pp", 4}}, .schedule = schedule, .recompute = {.kind = recompute}},
                {.kv_heads = model.config.kv_heads});
  options.microbatches = 8;
  options.optimizer.clip_norm = clip_norm;
  return compile(model.build(DType::Fp32, 8), options).programs;
}

// The first stage's kernel of a step runs beside the second one's of the step before.
TEST(Simulate, AStepLastsUntilTheNextOneEndsNotFromAPause) {
  const std::vector<Program> drifting{
      ToyProgram({{"pp", 2}}).kernel().all_reduce("pp", false).get(),
      ToyProgram({{"pp", 2}}).all_reduce("pp", false).kernel().get()};
  const Simulation steady = tessera::simulate(drifting, toy_cluster(), {});
  EXPECT_DOUBLE_EQ(steady.first_seconds, 1.2 + 3 + 1.2);
  EXPECT_DOUBLE_EQ(steady.step_seconds, 3 + 1.2);
  for (const SimulatedRank& rank : steady.ranks)
    EXPECT_DOUBLE_EQ(rank.times.compute_seconds + rank.times.exposed_communication_seconds, 4.2);
  const std::vector<Program> alike = {ToyProgram({{"dp", 2}}).kernel().get()};
  const Simulation one = tessera::simulate(alike, toy_cluster(), {});
  EXPECT_DOUBLE_EQ(one.step_seconds, one.first_seconds);
}

TEST(Simulate, AnotherProgramsRecomputationRepeatsWhatOursLeavesOut) {
  const std::vector<Program> programs = pipeline("1f1b", 0, RecomputeKind::Blocks);
  const auto compute = [&](double repeats) {
    SimulateOptions options;
    options.repeats = repeats;
    return tessera::simulate(programs, toy_cluster(), options).times.compute_seconds;
  };
  const double ours = compute(0), half = compute(0.5), all = compute(1);
  EXPECT_LT(ours, half);
  EXPECT_NEAR(half - ours, all - half, 1e-9 * all);
}

double step_of(const std::vector<Program>& programs,
               const std::function<void(SimulateOptions&)>& change) {
  SimulateOptions options;
  change(options);
  return tessera::simulate(programs, toy_cluster(), options).step_seconds;
}

TEST(Simulate, StagesDriftWhereNoSumEndsTheStep) {
  const auto drift = [](SimulateOptions& options) { options.steps_drift = true; };
  const std::vector<Program> zero_bubble = pipeline("zb_h2", 0, RecomputeKind::None);
  EXPECT_LT(step_of(zero_bubble, drift), step_of(zero_bubble, [](SimulateOptions&) {}));
}

TEST(Simulate, ABlockedSenderIsLaterUnlessTheBackwardIsSplit) {
  const auto none = [](SimulateOptions&) {};
  const auto blocks = [](SimulateOptions& options) { options.blocking_sends = true; };
  const std::vector<Program> whole = pipeline("1f1b", 0, RecomputeKind::None);
  const std::vector<Program> split = pipeline("zb_h1", 0, RecomputeKind::None);
  EXPECT_GT(step_of(whole, blocks), step_of(whole, none));
  EXPECT_DOUBLE_EQ(step_of(split, blocks), step_of(split, none));
}

TEST(Simulate, LateSumsAreNotHidden) {
  const std::vector<Program> programs{compiled({{"dp", 2}}, 4, 0)};
  const auto late = [](SimulateOptions& options) { options.late_sums = true; };
  EXPECT_GT(step_of(programs, late), step_of(programs, [](SimulateOptions&) {}));
}

TEST(Simulate, PartsOfEveryRankAddUpToTheStep) {
  const Simulation simulation = simulate(compiled({{"dp", 2}, {"tp", 2}}, 4, 1), toy_cluster());
  const SimulatedRank& rank = simulation.ranks.front();
  EXPECT_NEAR(rank.times.compute_seconds + rank.times.exposed_communication_seconds +
                  rank.times.bubble_seconds,
              simulation.step_seconds, 1e-9 * simulation.step_seconds);
  EXPECT_EQ(rank.alike, 4);
}

TEST(Simulate, NothingFasterMakesAStepSlower) {
  const Program program = compiled({{"dp", 2}, {"tp", 2}}, 4, 0);
  const double step = simulate(program, toy_cluster()).step_seconds;
  const auto with = [&](const std::function<void(Cluster&)>& change) {
    Cluster cluster = toy_cluster();
    change(cluster);
    return simulate(program, cluster).step_seconds;
  };
  EXPECT_LT(with([](Cluster& c) { c.device.memory_bandwidth.value *= 2; }), step);
  EXPECT_LT(with([](Cluster& c) { c.levels[0].bandwidth.value *= 2; }), step);
  EXPECT_LT(with([](Cluster& c) { c.levels[0].latency_seconds.value /= 2; }), step);
  EXPECT_GT(with([](Cluster& c) { c.device.launch_seconds.value = 1; }), step);
  EXPECT_GT(with([](Cluster& c) { c.levels[0].oversubscription.value = 2; }), step);
}

TEST(Simulate, UnitCostsCountMicrobatchesAlone) {
  const Program program = compiled({{"dp", 2}}, 4, 0, 3);
  const Simulation simulation = simulate(program, toy_cluster(), {.unit_cost = UnitCost{1, 2, 4}});
  EXPECT_NEAR(simulation.step_seconds, 3 * (1 + 2 + 4), 1e-9);
  EXPECT_DOUBLE_EQ(simulation.times.exposed_communication_seconds, 0);
}

TEST(Simulate, MfuIsTheShareOfAllPeaks) {
  const Simulation simulation =
      simulate(ToyProgram({{"dp", 2}}).kernel().get(), toy_cluster(), {.model_flops = 0.6e9});
  EXPECT_DOUBLE_EQ(simulation.mfu, 0.6e9 / (1.2 * 2e9));
}

TEST(Simulate, MfuInFp8IsAShareOfTheFp8Peak) {
  Cluster cluster = toy_cluster();
  cluster.device.peak_flops = {{Arithmetic::Fp32, {1e9, "toy"}},
                               {Arithmetic::Bf16, {2e9, "toy"}},
                               {Arithmetic::Fp8, {4e9, "toy"}}};
  const Program program = ToyProgram({}).kernel().get();
  const auto mfu = [&](Precision precision) {
    return simulate(program, cluster, {.model_flops = 0.6e9, .precision = precision}).mfu;
  };
  EXPECT_DOUBLE_EQ(mfu(DType::Bf16), 0.6e9 / (1.2 * 2e9));
  EXPECT_DOUBLE_EQ(mfu({DType::Bf16, true, true}), 0.6e9 / (1.2 * 4e9));
}

// Llama 3 8B, 2 x 4096, as docs/performance.md has it.
double measured_step_seconds(const Cluster& cluster, Precision precision) {
  Plan plan = make_plan({.mesh = {}, .recompute = {.kind = RecomputeKind::Cheap}}, {});
  if (precision.fp8) plan.fp8.emplace();
  const Compiled compiled =
      compile(build_model(resolved(find_preset("llama3-8b").config), {.batch = 2, .seq = 4096},
                          precision, HeadKind::Loss),
              {.training = true, .plan = plan});
  return tessera::simulate(compiled.programs, cluster, {.precision = precision}).step_seconds;
}

TEST(Simulate, Fp8IsAsMuchFasterThanBf16AsOnTheH200) {
  constexpr double kMeasured = 1.33;  // before values were quantised once
  const Cluster h200 = load_cluster("h200");
  const double bf16 = measured_step_seconds(h200, {DType::Bf16, true, false});
  const double fp8 = measured_step_seconds(h200, {DType::Bf16, true, true});
  EXPECT_NEAR(bf16 / fp8, kMeasured, 0.08);
}

TEST(Simulate, APrecisionThatTheClusterLacksIsRefused) {
  const Program program = ToyProgram({}).kernel().get();
  EXPECT_THROW(simulate(program, load_cluster("dgx-a100"),
                        {.precision = Precision(DType::Bf16, false, true)}),
               UserError);
}

TEST(Simulate, AMeshLargerThanTheClusterIsRefused) {
  EXPECT_THROW(simulate(ToyProgram({{"dp", 17}}).kernel().get(), toy_cluster()), UserError);
}

TEST(Simulate, SixteenThousandRanksAlikeAreWalkedOnce) {
  const Program program = compiled({{"dp", 4096}, {"tp", 4}}, 4096);
  const Simulation simulation = simulate(program, load_cluster("llama3-h100"));
  EXPECT_EQ(simulation.ranks.size(), 1U);
  EXPECT_EQ(simulation.ranks.front().alike, 16384);
  EXPECT_GT(simulation.times.exposed_communication_seconds, 0);
}

TEST(Simulate, TheTraceHasEverySliceInItsPlace) {
  const Program program = overlapping();
  const Simulation simulation = simulate(program, toy_cluster(), {.keep_slices = true});
  const auto json = nlohmann::json::parse(to_trace_json(std::span(&program, 1), simulation));
  std::vector<std::string> slices;
  for (const auto& event : json["traceEvents"])
    if (event["ph"] == "X")
      slices.push_back(fmt::format("{} {} {:.0f} {:.0f}", event["name"].get<std::string>(),
                                   event["tid"].get<int>(), event["ts"].get<double>() / 1e5,
                                   event["dur"].get<double>() / 1e5));
  EXPECT_EQ(slices,
            (std::vector<std::string>{"forward toy, microbatch 0 0 0 42", "add 0 0 12",
                                      "add 0 12 12", "wait 0 24 18", "all_reduce dp 1 12 30"}));
  EXPECT_EQ(json["traceEvents"][0]["args"]["name"], "rank 0 dp=0 and 1 identical");
}

TEST(Simulate, TheTraceShowsEveryKernelWithinItsRoutine) {
  SmallModel model = small_model("Llama");
  model.seq = 8;
  std::vector<Program> programs =
      compile(model.build(DType::Fp32, 4), {.plan = make_plan({.mesh = {{"pp", 2}, {"dp", 2}}},
                                                              {.kv_heads = model.config.kv_heads})})
          .programs;
  give_blocks_odd_names(programs);
  const Simulation simulation = simulate(programs, toy_cluster(), {.keep_slices = true});
  const auto events = nlohmann::json::parse(to_trace_json(programs, simulation))["traceEvents"];
  expect_kernels_within_routines(events);
  EXPECT_EQ(arrow_ids(events, "s"), arrow_ids(events, "f"));
  EXPECT_EQ(arrow_ids(events, "s").size(),
            2u);  // a stream and a gradient, on one of two data ranks
}

}  // namespace
}  // namespace tessera
