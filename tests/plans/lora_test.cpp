// SPDX-License-Identifier: Apache-2.0
// Frozen weights and adapters under any plan: what one rank computes, and what a model computes
// into whose weights the adapters are merged.
#include <gtest/gtest.h>

#include <cmath>

#include "core/convert_elements.h"
#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/train_step.h"
#include "inference/merged_model.h"
#include "ir/optimizer.h"
#include "plan_cases.h"

namespace tessera {
namespace {

using enum AxisKind;

class AdaptedPlan : public testing::TestWithParam<PlanCase> {};

TEST_P(AdaptedPlan, IsEqualToOneRank) {
  const VerifyReport report = verify_plan(GetParam().spec(), poisoned());
  EXPECT_LE(report.loss.error, report.loss.allowed) << report.loss.name;
  EXPECT_LE(report.grad_norm.error, report.grad_norm.allowed) << report.grad_norm.name;
  EXPECT_LE(report.gradient.error, report.gradient.allowed) << report.gradient.name;
  EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
  EXPECT_EQ(report.replica.error, 0) << report.replica.name;
  EXPECT_TRUE(report.equal());
}

std::vector<PlanCase> ten_meshes() {
  const std::string llama = "Llama";
  return {{.model = llama, .axes = {{Dp, 2}}, .microbatches = 3},
          {.model = llama, .axes = {{Dp, 2}}, .zero = 1},
          {.model = llama, .axes = {{Dp, 2}}, .zero = 2, .microbatches = 3},
          {.model = llama, .axes = {{Fsdp, 2}}, .zero = 3, .microbatches = 3},
          {.model = llama, .axes = {{Tp, 2}}},
          {.model = llama, .axes = {{Tp, 2}}, .sequence_parallel = true},
          {.model = llama, .axes = {{Cp, 2}}},
          {.model = llama, .axes = {{Pp, 2}}, .microbatches = 4},
          {.model = llama,
           .axes = {{Pp, 2}},
           .microbatches = 4,
           .chunks = 2,
           .schedule = "interleaved_1f1b"},
          {.model = llama,
           .axes = {{Pp, 2}, {Fsdp, 2}, {Tp, 2}},
           .zero = 3,
           .sequence_parallel = true,
           .microbatches = 2}};
}

std::vector<PlanCase> with_adapters(std::vector<PlanCase> cases) {
  for (PlanCase& c : cases) c.lora_rank = 3;
  return cases;
}

// Other families, schedules and choices of a plan; weights that are frozen without adapters.
std::vector<PlanCase> more_adapted() {
  std::vector<PlanCase> cases = with_adapters({
      {.model = "Mlp", .axes = {{Dp, 2}, {Tp, 2}}, .zero = 2},
      {.model = "Gpt", .axes = {{Pp, 2}}, .microbatches = 3},
      {.model = "Gpt", .axes = {{Fsdp, 2}, {Tp, 2}}, .zero = 3, .sequence_parallel = true},
      {.model = "Qwen", .axes = {{Pp, 2}, {Fsdp, 2}}, .zero = 3, .microbatches = 4},
      {.model = "Moe", .axes = {{Ep, 2}, {Tp, 2}}},
      {.model = "DeepSeek", .axes = {{Fsdp, 2}, {Tp, 2}}, .zero = 3},
      {.model = "Llama", .axes = {{Pp, 2}}, .microbatches = 3, .schedule = "zb_h1"},
      {.model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .recompute = "block"},
      {.model = "Llama", .axes = {{Cp, 2}}, .ulysses = true},
      {.model = "Llama", .axes = {{Dp, 2}}, .zero = 1, .optimizer = "muon"},
      {.model = "Llama", .axes = {{Dp, 2}}, .offload = "parameters"},
      {.model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .offload = "parameters,gradients"},
  });
  for (const char* frozen : {"layer.*", "embedding.*", "*norm*", "head.*", "*.w?"})
    for (const PlanCase& plan : std::vector<PlanCase>{
             {.model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .microbatches = 2},
             {.model = "Llama", .axes = {{Pp, 2}, {Tp, 2}}, .microbatches = 2}}) {
      cases.push_back(plan);
      cases.back().frozen = frozen;
    }
  cases.push_back({.model = "Gpt", .axes = {{Pp, 2}}, .microbatches = 2, .frozen = "embedding.*"});
  cases.push_back({.model = "Moe", .axes = {{Ep, 2}}, .frozen = "layer.*"});
  return cases;
}

std::string case_name(const testing::TestParamInfo<PlanCase>& info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(TenMeshes, AdaptedPlan, testing::ValuesIn(with_adapters(ten_meshes())),
                         case_name);
INSTANTIATE_TEST_SUITE_P(More, AdaptedPlan, testing::ValuesIn(more_adapted()), case_name);

// The weights of an executor, as if they were stored.
class HeldWeights : public StateSource {
 public:
  HeldWeights(const Executor& executor, const LoraConfig& lora, const ModelConfig& model)
      : StateSource("held") {
    for (const StateBuffer& state : executor.program().states) {
      Shape shape;
      for (const Dim& dim : state.type.dims) shape.push_back(dim.size);
      add_tensor(state.name, {state.type.dtype, shape});
      std::vector<std::byte>& bytes = bytes_[state.name];
      bytes.resize(static_cast<size_t>(state.type.bytes()));
      executor.read_state(state, bytes);
    }
    facts_.config_toml = fmt::format(
        "[model]\npreset = \"custom\"\nfamily = \"llama\"\nlayers = {}\nwidth = {}\nheads = {}\n"
        "kv_heads = {}\nhead_size = {}\nmlp_size = {}\nvocabulary = {}\ncontext = {}\n"
        "activation = \"swiglu\"\n[lora]\nrank = {}\nalpha = {}\n",
        model.layers, model.width, model.heads, model.kv_heads, model.head_size, model.mlp_size,
        model.vocabulary, model.context, lora.rank, lora.alpha);
  }

  const CheckpointFacts& facts() const override { return facts_; }
  std::string digest() const override { return {}; }

 private:
  void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                        const Overlap& f) const override {
    const auto element_bytes = static_cast<size_t>(size_bytes(tensors().at(name).dtype));
    for (size_t i = 0; i < wanted.size(); ++i)
      f(i, 0, wanted[i].count,
        std::span(bytes_.at(name))
            .subspan(static_cast<size_t>(wanted[i].element) * element_bytes,
                     static_cast<size_t>(wanted[i].count) * element_bytes));
  }

  CheckpointFacts facts_;
  std::map<std::string, std::vector<std::byte>> bytes_;
};

std::unique_ptr<LocalMesh> mesh_of(const RunSpec& spec) {
  return require_device(spec.device).make_mesh(compile(spec).programs, {.threads = 1});
}

double loss_of(LocalMesh& mesh, int step, const ModelConfig& model) {
  write_verification_batch(mesh, step, {.vocabulary = model.vocabulary});
  mesh.run("evaluate");
  return mesh.read_step("loss");
}

class LoraOn : public testing::TestWithParam<PlanCase> {};

// Large steps, so that adapters are no small part of the weights.
TEST_P(LoraOn, EqualsItsMergedModel) {
  const RunSpec spec = GetParam().spec();
  const auto adapted = mesh_of(spec);
  initialise_states(*adapted, 1);
  const double first = loss_of(*adapted, 9, spec.model);
  for (int step = 1; step <= 3; ++step) {
    write_verification_batch(*adapted, step, {.vocabulary = spec.model.vocabulary});
    run_train_step(*adapted, {.learning_rate = 0.05, .step = step});
  }
  RunSpec plain = spec;
  plain.model.lora = {};
  const auto merged = mesh_of(plain);
  initialise_states(*merged, 2);  // all of it is replaced
  const HeldWeights held(*adapted, spec.model.lora, spec.model);
  MergedModel(held, false).load_weights(*merged, false);
  const double with_adapters = loss_of(*adapted, 9, spec.model),
               without = loss_of(*merged, 9, spec.model);
  EXPECT_NEAR(with_adapters, without, 1e-9 * without);
  EXPECT_GT(std::abs(with_adapters - first), 1e-3) << "the adapters add nothing";
}

INSTANTIATE_TEST_SUITE_P(TenMeshes, LoraOn, testing::ValuesIn(with_adapters(ten_meshes())),
                         case_name);

}  // namespace
}  // namespace tessera
