// SPDX-License-Identifier: Apache-2.0
// Experts under loads of eight kinds. Pools with room for the worst case must give what one rank
// gives; pools of the mean, whose steps are repeated with more room, the bits of those. Arenas are
// poisoned: what lies in a pool after the last row may not matter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/mesh_executor.h"
#include "exec/train_step.h"
#include "ir/op_list.h"
#include "mutant.h"
#include "plan_cases.h"
#include "studio/lessons/break_program.h"
#include "train/expert_room.h"

namespace tessera {
namespace {

using enum AxisKind;

constexpr int kSteps = 3, kExperts = 8;
constexpr int64_t kClasses = 8;

// Tokens of class c choose experts c and c + 1.
using ClassOfToken = std::function<int64_t(int64_t step, int64_t row, uint64_t random)>;

struct Load {
  std::string name;
  ClassOfToken class_of;
  bool overflows = true;  // pools of the mean, on every mesh
};

const std::vector<Load>& loads() {
  static const std::vector<Load> all{
      {"Balanced", [](int64_t, int64_t, uint64_t r) { return static_cast<int64_t>(r % kClasses); },
       /*overflows=*/false},
      {"HotExpert", [](int64_t, int64_t, uint64_t) { return int64_t{2}; }},
      // Experts 0 to 3 are those of the first of two ranks.
      {"HotRank", [](int64_t, int64_t, uint64_t r) { return static_cast<int64_t>(r % 3); }},
      {"EmptyExpertsAndRanks",
       [](int64_t, int64_t, uint64_t r) { return static_cast<int64_t>(4 + 2 * (r % 2)); }},
      // By row, so that ranks send each other very different numbers.
      {"RaggedSources",
       [](int64_t, int64_t row, uint64_t r) {
         return row % 4 == 0 ? static_cast<int64_t>(r % kClasses) : row % 3;
       }},
      {"Rotating", [](int64_t step, int64_t, uint64_t) { return 3 * step % kClasses; }},
      {"Burst", [](int64_t step, int64_t,
                   uint64_t r) { return step == 2 ? 5 : static_cast<int64_t>(r % kClasses); }},
      {"SpreadHeat",
       [](int64_t, int64_t, uint64_t r) { return static_cast<int64_t>(r % 4 == 0 ? 0 : 5); }},
  };
  return all;
}

void write_batch(Executor& executor, const Load& load, int64_t step) {
  write_inputs(executor, static_cast<uint64_t>(step) * 1000003,
               [&](const HostBuffer& input, const RandomStream& random, int64_t index) {
                 const int64_t seq = input.whole.size_of("seq");
                 const uint64_t drawn = random.bits(static_cast<uint64_t>(index));
                 if (input.name == "document") return int32_t{0};
                 if (input.name == "positions") return static_cast<int32_t>(index % seq);
                 if (input.name == "labels") return static_cast<int32_t>(drawn % 24);
                 const int64_t own = load.class_of(step, index / seq, drawn >> 20);
                 return static_cast<int32_t>(own + kClasses * (drawn % 3));
               });
}

// A token's class stands out in its embedding, and routers read nothing else.
void write_routing_weights(Executor& executor) {
  for (const StateBuffer& state : executor.program().states) {
    const bool table = state.name.ends_with(".table"), router = state.name.ends_with(".router");
    if (!table && !router) continue;
    std::vector<std::byte> bytes(static_cast<size_t>(state.type.bytes()));
    executor.read_state(state, bytes);
    auto* values = reinterpret_cast<double*>(bytes.data());
    const int64_t width = state.type.dims.back().size;
    for (int64_t i = 0; i < state.type.num_elements(); ++i) {
      const int64_t row = i / width, column = i % width;
      if (table && column == row % kClasses) values[i] += 4;
      if (!router) continue;
      values[i] *= 0.01;
      const int64_t after = (column - row + kExperts) % kExperts;
      if (row < kClasses && after < 2) values[i] += after == 0 ? 2 : 1.5;
    }
    executor.write_state(state, bytes);
  }
}

using States = std::map<std::string, std::vector<std::byte>>;

States states_of(const Executor& executor) {
  States states;
  for (const StateBuffer& state : executor.program().states) {
    std::vector<std::byte>& bytes = states[state.name];
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    executor.read_state(state, bytes);
  }
  return states;
}

struct Trained {
  std::vector<double> losses, norms;
  States states;
  int repeats = 0;
};

// As a trainer does it.
Trained trained(RunSpec spec, const Load& load, double room, bool poison = true) {
  spec.plan.expert_room = room;
  spec.optimizer.ema_decay = 0.9;
  const auto executor =
      require_device(spec.device).make_mesh(compile(spec).programs, {.poison = poison});
  LocalMesh& mesh = *executor;
  initialise_states(mesh, 1);
  write_routing_weights(mesh);
  Trained all;
  for (int step = 1; step <= kSteps; ++step) {
    StepResults results;
    for (;;) {
      const States before = states_of(mesh);
      write_batch(mesh, load, step);
      results = run_train_step(mesh, {.learning_rate = 1e-2, .step = step});
      const double need = read_expert_need(mesh);
      if (!(need > 1)) break;
      EXPECT_EQ(states_of(mesh), before) << "a step without room changed something";
      spec.plan.expert_room = room_for_need(spec.plan.expert_room, need);
      mesh.replace_programs(compile(spec).programs, ProgramChange::Memory);
      ++all.repeats;
    }
    all.losses.push_back(results.loss);
    all.norms.push_back(results.grad_norm);
  }
  all.states = states_of(mesh);
  return all;
}

double relative_difference(const States& a, const States& b) {
  double worst = 0;
  for (const auto& [name, bytes] : a) {
    const auto* x = reinterpret_cast<const double*>(bytes.data());
    const auto* y = reinterpret_cast<const double*>(b.at(name).data());
    double scale = 1e-300, off = 0;
    for (size_t i = 0; i < bytes.size() / sizeof(double); ++i) {
      scale = std::max(scale, std::abs(x[i]));
      off = std::isnan(y[i]) ? INFINITY : std::max(off, std::abs(x[i] - y[i]));
    }
    worst = std::max(worst, off / scale);
  }
  return worst;
}

const double kWorst = std::numeric_limits<double>::infinity();

RunSpec on_one_rank(const PlanCase& c) {
  const RunSpec spec = c.spec();
  RunSpec one = PlanCase{.model = "Moe", .microbatches = c.microbatches}.spec();
  one.model = spec.model;
  one.microbatch = spec.microbatch;
  return one;
}

struct LoadCase {
  Load load;
  PlanCase plan;
};

class ExpertsUnderLoad : public testing::TestWithParam<LoadCase> {};

TEST_P(ExpertsUnderLoad, WithRoomForTheWorstIsThatOfOneRank) {
  const auto& [load, plan] = GetParam();
  const Trained one = trained(on_one_rank(plan), load, kWorst),
                many = trained(plan.spec(), load, kWorst);
  EXPECT_EQ(many.repeats, 0);
  for (int step = 0; step < kSteps; ++step)
    EXPECT_NEAR(many.losses[static_cast<size_t>(step)], one.losses[static_cast<size_t>(step)],
                1e-10);
  EXPECT_LE(relative_difference(one.states, many.states), 1e-7);
}

TEST_P(ExpertsUnderLoad, WithTheRoomOfTheMeanIsRepeatedAndHasTheSameBits) {
  const auto& [load, plan] = GetParam();
  const Trained worst = trained(plan.spec(), load, kWorst), mean = trained(plan.spec(), load, 1);
  EXPECT_EQ(mean.losses, worst.losses);
  EXPECT_EQ(mean.norms, worst.norms);
  EXPECT_EQ(mean.states, worst.states);
  EXPECT_GE(mean.repeats, load.overflows ? 1 : 0);
}

TEST_P(ExpertsUnderLoad, DoesNotReadWhatIsAfterTheLastRow) {
  const auto& [load, plan] = GetParam();
  const Trained poisoned = trained(plan.spec(), load, kWorst),
                clean = trained(plan.spec(), load, kWorst, /*poison=*/false);
  EXPECT_EQ(poisoned.losses, clean.losses);
  EXPECT_EQ(poisoned.states, clean.states);
}

std::vector<LoadCase> load_cases() {
  const std::vector<PlanCase> plans{
      {.model = "Moe", .axes = {{Ep, 2}}, .microbatches = 2},
      {.model = "Moe", .axes = {{Fsdp, 2}, {Ep, 2}}, .zero = 3, .recompute = "block"},
      {.model = "Moe", .axes = {{Pp, 2}, {Ep, 2}}, .microbatches = 2},
      {.model = "Moe", .axes = {{Dp, 2}, {Ep, 2}}, .microbatches = 2, .exchange = true},
  };
  std::vector<LoadCase> cases;
  for (const Load& load : loads())
    for (const PlanCase& plan : plans) cases.push_back({load, plan});
  for (const PlanCase& plan : {PlanCase{.model = "Moe", .axes = {{Dp, 2}, {Ep, 2}}},
                               PlanCase{.model = "Moe", .axes = {{Ep, 4}}, .microbatches = 2},
                               PlanCase{.model = "Moe",
                               .axes = {{Ep, 2}, {Tp, 2}},
                               .sequence_parallel = true,
                               .experts = "ep+tp"}})
    cases.push_back({loads()[1], plan});
  for (const PlanCase& plan :
       {PlanCase{.model = "Moe", .axes = {{Ep, 4}}, .recompute = "block", .exchange = true},
        PlanCase{.model = "Moe",
        .axes = {{Ep, 2}, {Tp, 2}},
        .sequence_parallel = true,
        .experts = "ep+tp",
        .exchange = true}})
    cases.push_back({loads()[4], plan});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, ExpertsUnderLoad, testing::ValuesIn(load_cases()),
                         [](const testing::TestParamInfo<LoadCase>& instance) {
                           return instance.param.load.name + "_" + instance.param.plan.name();
                         });

// All ranks on one GPU, whose kernels read on the device how many rows there are.
class GpuExpertsUnderLoad : public testing::TestWithParam<LoadCase> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
  static RunSpec spec() {
    RunSpec spec = GetParam().plan.spec();
    spec.device = DeviceKind::Cuda;
    return spec;
  }
};

TEST_P(GpuExpertsUnderLoad, WithRoomForTheWorstIsThatOfOneRankOnTheCpu) {
  const auto& [load, plan] = GetParam();
  const Trained one = trained(on_one_rank(plan), load, kWorst),
                many = trained(spec(), load, kWorst);
  for (int step = 0; step < kSteps; ++step)
    EXPECT_NEAR(many.losses[static_cast<size_t>(step)], one.losses[static_cast<size_t>(step)],
                1e-10);
  EXPECT_LE(relative_difference(one.states, many.states), 1e-7);
}

TEST_P(GpuExpertsUnderLoad, WithTheRoomOfTheMeanIsRepeatedAndHasTheSameBits) {
  const Load& load = GetParam().load;
  const Trained worst = trained(spec(), load, kWorst), mean = trained(spec(), load, 1);
  EXPECT_EQ(mean.losses, worst.losses);
  EXPECT_EQ(mean.norms, worst.norms);
  EXPECT_EQ(mean.states, worst.states);
  EXPECT_GE(mean.repeats, load.overflows ? 1 : 0);
}

std::vector<LoadCase> gpu_load_cases() {
  std::vector<LoadCase> cases;
  for (const Load& load : loads())
    cases.push_back({load,
                     {.model = "Moe",
                      .axes = {{Dp, 2}, {Ep, 2}},
                      .microbatches = 2,
                      .exchange = load.name != "SpreadHeat"}});
  cases.push_back(
      {loads()[4], {.model = "Moe", .axes = {{Ep, 4}}, .recompute = "block", .exchange = true}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, GpuExpertsUnderLoad, testing::ValuesIn(gpu_load_cases()),
                         [](const testing::TestParamInfo<LoadCase>& instance) {
                           return instance.param.load.name + "_" + instance.param.plan.name();
                         });

// What the tests above would see if a kernel took rows after the last one.
TEST(ExpertLoad, RowsAfterTheLastOneSpoilTheStepWhereTheyAreRead) {
  const auto norm_of = [](bool broken) {
    const RunSpec spec = PlanCase{.model = "Moe", .axes = {{Ep, 2}}}.spec();
    ExecutorOptions options{.poison = true};
    if (broken)
      options.observer = [](int, const InstructionEvent& event) {
        const auto* kernel = event.instruction.as<KernelInstruction>();
        if (!kernel || kernel->op != OpKind::order_routes || !event.finished) return;
        const TensorRef source = event.bound.result(1), ends = event.bound.result(2);
        ends.as<int32_t>()[ends.type->num_elements() - 1] =
            static_cast<int32_t>(source.type->num_elements());
      };
    MeshExecutor mesh(compile(spec).programs, std::move(options));
    initialise_states(mesh, 1);
    write_routing_weights(mesh);
    write_batch(mesh, loads().front(), 1);
    return run_train_step(mesh, {.learning_rate = 1e-2, .step = 1}).grad_norm;
  };
  EXPECT_TRUE(std::isfinite(norm_of(false)));
  EXPECT_FALSE(std::isfinite(norm_of(true)));
}

// The first microbatch needs twice the mean on rank 0; the others have room.
Load hot_at_first(int64_t rows) {
  return {"HotAtFirst", [rows](int64_t, int64_t row, uint64_t r) {
            return static_cast<int64_t>(row < rows ? r % 3 : r % kClasses);
          }};
}

struct RoomMutant {
  std::string name;
  std::function<void(int rank, Program&)> change;
};

// Whether a step without room tells so on every rank, and changes nothing on any.
bool holds(const std::function<void(int, Program&)>& change) {
  RunSpec spec = PlanCase{.model = "Moe", .axes = {{Ep, 2}}, .microbatches = 2}.spec();
  spec.plan.expert_room = 1.5;
  MeshExecutor mesh(compile(spec).programs, {.change_program = change});
  initialise_states(mesh, 1);
  write_routing_weights(mesh);
  const auto states = [&] { return std::pair(states_of(mesh.rank(0)), states_of(mesh.rank(1))); };
  const auto before = states();
  write_batch(mesh, hot_at_first(spec.microbatch.batch), 1);
  run_train_step(mesh, {.learning_rate = 1e-2, .step = 1});
  return read_expert_need(mesh.rank(0)) > 1 && read_expert_need(mesh.rank(1)) > 1 &&
         states() == before;
}

class ExpertRoomMutant : public testing::TestWithParam<RoomMutant> {};

TEST_P(ExpertRoomMutant, IsCaught) {
  EXPECT_TRUE(holds({}));
  bool caught = false;
  try {
    caught = !holds(GetParam().change);
  } catch (const NothingToBreak&) {
    throw;
  } catch (const std::exception&) {
    caught = true;  // a check refuses the program
  }
  EXPECT_TRUE(caught);
}

std::vector<RoomMutant> room_mutants() {
  using enum RoutineKind;
  return {
      {"NeedIsNotTold", everywhere([](Program& p) { remove(p, "layer", Forward, "expert_need"); })},
      {"NeedIsToldToOneRank", everywhere([](Program& p) {
         leave_out(p, "expert_room", MetricReduce, CollectiveOp::AllReduce);
       })},
      {"NeedOfTheLastMicrobatch", everywhere([](Program& p) { set_flags(p, Forward, 1, false); })},
      {"RowsAreDroppedSilently", everywhere([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::expert_need).operands[0] =
             find_kernel(p, "layer", Forward, OpKind::order_routes).results[2];
       })},
      {"UpdateIsNotHeld",
       everywhere([](Program& p) { remove(p, "expert_room", NormReduce, "hold_update"); })},
      {"UpdateIsHeldOnOneRank",
       on_rank_one([](Program& p) { remove(p, "expert_room", NormReduce, "hold_update"); })},
  };
}

INSTANTIATE_TEST_SUITE_P(, ExpertRoomMutant, testing::ValuesIn(room_mutants()),
                         [](const testing::TestParamInfo<RoomMutant>& instance) {
                           return instance.param.name;
                         });

}  // namespace
}  // namespace tessera
