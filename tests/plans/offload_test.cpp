// SPDX-License-Identifier: Apache-2.0
// What a plan keeps on the host changes no bit of what it computes, on any mesh, and leaves the
// device the fewer bytes.
#include <gtest/gtest.h>

#include <map>

#include "data/synthetic_batch.h"
#include "exec/mesh_executor.h"
#include "exec/train_step.h"
#include "plan_cases.h"
#include "program/check_program.h"

namespace tessera {
namespace {

using enum AxisKind;

struct Kind {
  const char* offload;
  bool update_on_host = false;
};
const std::vector<Kind> kKinds{{"moments"},
                               {"states"},
                               {"parameters"},
                               {"gradients"},
                               {"activations"},
                               {"moments", true},
                               {"states,gradients", true},
                               {"parameters,gradients,activations"},
                               {"parameters,activations", true}};

// Every axis, alone and with others, all levels of ZeRO, schedules and what is recomputed.
std::vector<PlanCase> plans() {
  return {
      {.model = "Llama"},
      {.model = "Gpt", .microbatches = 3},
      {.model = "Mlp", .axes = {{Dp, 2}}, .microbatches = 2},
      {.model = "Llama", .axes = {{Dp, 2}}, .zero = 1, .microbatches = 3},
      {.model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .microbatches = 3},
      {.model = "Qwen", .axes = {{Dp, 2}, {Fsdp, 2}}, .zero = 3},
      {.model = "Gpt", .axes = {{Fsdp, 4}}, .zero = 2, .microbatches = 2},
      {.model = "Llama", .axes = {{Tp, 2}}, .sequence_parallel = true},
      {.model = "Gpt", .axes = {{Fsdp, 2}, {Tp, 2}}, .zero = 3, .microbatches = 2},
      {.model = "Llama", .axes = {{Cp, 2}}, .microbatches = 2},
      {.model = "Qwen", .axes = {{Fsdp, 2}, {Cp, 2}}, .zero = 3, .ulysses = true},
      {.model = "Moe", .axes = {{Ep, 2}}, .microbatches = 2},
      {.model = "Moe", .axes = {{Fsdp, 2}, {Ep, 2}}, .zero = 3, .exchange = true},
      {.model = "DeepSeek", .axes = {{Dp, 2}, {Ep, 2}}},
      {.model = "Gpt", .axes = {{Pp, 2}}, .microbatches = 4},
      {.model = "Llama", .axes = {{Pp, 2}, {Fsdp, 2}}, .zero = 3, .microbatches = 4},
      {.model = "Llama",
       .axes = {{Pp, 2}},
       .microbatches = 4,
       .chunks = 2,
       .schedule = "interleaved_1f1b"},
      {.model = "Qwen", .axes = {{Pp, 2}, {Dp, 2}}, .microbatches = 3, .schedule = "zb_h1"},
      {.model = "Gpt", .axes = {{Pp, 2}}, .microbatches = 3, .chunks = 2, .schedule = "zb_v"},
      {.model = "Llama", .microbatches = 2, .recompute = "cheap"},
      {.model = "Llama", .axes = {{Tp, 2}}, .recompute = "block_keep_attention", .layers = 6},
      {.model = "Moe", .axes = {{Pp, 2}, {Dp, 2}, {Ep, 2}}, .microbatches = 2},
      {.model = "Gpt", .axes = {{Dp, 2}}, .zero = 1, .optimizer = "muon"},
      {.model = "Llama", .axes = {{Fsdp, 2}, {Tp, 2}}, .zero = 3, .optimizer = "muon"},
      {.model = "Moe", .axes = {{Pp, 2}, {Ep, 2}}, .microbatches = 2, .optimizer = "muon"},
  };
}

std::unique_ptr<MeshExecutor> trained(const PlanCase& plan, Precision precision) {
  RunSpec spec = plan.spec();
  spec.precision = precision;
  auto mesh =
      std::make_unique<MeshExecutor>(compile(spec).programs, ExecutorOptions{.poison = true});
  initialise_states(*mesh, 1);
  for (int step = 1; step <= 3; ++step) {
    write_verification_batch(*mesh, step, {.seed = 1, .vocabulary = spec.model.vocabulary});
    run_train_step(*mesh, {.learning_rate = 1e-2, .step = step});
  }
  return mesh;
}

std::map<std::string, std::vector<std::byte>> everything(const Executor& executor) {
  std::map<std::string, std::vector<std::byte>> all;
  for (const StateBuffer& state : executor.program().states) {
    std::vector<std::byte>& bytes = all[state.name];
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    executor.read_state(state, bytes);
  }
  const double loss = executor.read_step("loss");
  std::vector<std::byte>& bytes = all["loss"];
  bytes.resize(sizeof loss);
  std::memcpy(bytes.data(), &loss, sizeof loss);
  return all;
}

class Offloaded : public testing::TestWithParam<PlanCase> {};

TEST_P(Offloaded, StatesAndActivationsChangeNoBit) {
  for (const Precision precision : {Precision(DType::Fp32), Precision(DType::Bf16)}) {
    const auto wanted = everything(*trained(GetParam(), precision));
    for (const Kind& kind : kKinds) {
      PlanCase plan = GetParam();
      plan.offload = kind.offload;
      plan.update_on_host = kind.update_on_host;
      if (plan.zero > 0 && plan.zero < 3 && plan.offload.starts_with("parameters")) continue;
      SCOPED_TRACE(plan.name() + " in " + std::string(name(precision)));
      const auto got = everything(*trained(plan, precision));
      ASSERT_EQ(got.size(), wanted.size());
      for (const auto& [state, bytes] : wanted) EXPECT_EQ(got.at(state), bytes) << state;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Offloaded, testing::ValuesIn(plans()),
                         [](const auto& instance) { return instance.param.name(); });

Program program_of(std::string offload, int layers, Precision precision = DType::Bf16) {
  RunSpec spec =
      PlanCase{.model = "Llama", .microbatches = 2, .offload = std::move(offload), .layers = layers}
          .spec();
  spec.precision = precision;
  return compile(spec).programs.front();
}

// How many bytes of a kind four more layers take on the device.
int64_t four_layers(const char* offload, BufferKind kind) {
  return program_of(offload, 12).bytes(kind) - program_of(offload, 8).bytes(kind);
}

TEST(Offload, LeavesTwoBlocksStatesOnTheDeviceWhateverTheirNumber) {
  using enum BufferKind;
  const int64_t all = four_layers("none", Optimizer), some = four_layers("moments", Optimizer);
  EXPECT_GT(some, 0);
  EXPECT_LT(some, all);
  EXPECT_EQ(four_layers("states", Optimizer), 0);
  EXPECT_GT(four_layers("states", Parameter), 0);
  EXPECT_EQ(four_layers("parameters", Optimizer), 0);
  EXPECT_EQ(four_layers("parameters", Parameter), 0);
  EXPECT_EQ(four_layers("gradients", Gradient), 0);
  EXPECT_GT(four_layers("states", Gradient), 0);
  EXPECT_GE(program_of("states", 12).host_bytes() - program_of("states", 8).host_bytes(), all);
}

TEST(Offload, KeepsActivationsOfTwoBlocksOnTheDevice) {
  const auto slots = [](const char* offload, int layers) {
    return program_of(offload, layers).slot_bytes;
  };
  const int64_t stream = (slots("activations", 12) - slots("activations", 8)) / 4;
  EXPECT_LT(4 * stream, slots("none", 12) - slots("none", 8));
  EXPECT_GT(program_of("activations", 12).host_slot_bytes,
            program_of("activations", 8).host_slot_bytes);
  EXPECT_EQ(program_of("none", 8).host_bytes(), 0);
}

TEST(Offload, IsAcceptedByTheStaticCheck) {
  for (const Kind& kind : kKinds) check_memory(program_of(kind.offload, 6));
}

}  // namespace
}  // namespace tessera
