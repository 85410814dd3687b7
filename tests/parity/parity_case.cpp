// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_case.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/random.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

// First weights are larger than in earnest, so that attention is far from uniform and a mistake in
// it shows.
constexpr double kDeviation = 0.15;

std::vector<ParityCase> mlp_cases() {
  return {
      ParityCase{
          .name = "mlp",
          .model = {.family = Family::Mlp,
                    .layers = 5,
                    .width = 23,
                    .mlp_size = 37,
                    .activation = Activation::Gelu,
                    .bias = true},
          .shape = {.batch = 7},
          .microbatches = 2,
          .optimizer = {.settings = {{"beta2", 0.999}}, .weight_decay = 0.01, .clip_norm = 0.5}},
      ParityCase{.name = "mlp_relu",
                 .model = {.family = Family::Mlp,
                           .layers = 4,
                           .width = 24,
                           .activation = Activation::Relu},
                 .shape = {.batch = 6},
                 .optimizer = {.weight_decay = 0, .clip_norm = 0}}};
}

std::vector<ParityCase> transformer_cases() {
  return {ParityCase{.name = "gpt2",
                     .model = {.family = Family::Gpt,
                               .layers = 3,
                               .width = 36,
                               .heads = 3,
                               .vocabulary = 67,
                               .context = 40,
                               .activation = Activation::GeluTanh,
                               .tied = true,
                               .bias = true,
                               .init_deviation = kDeviation},
                     .shape = {.batch = 2, .seq = 21},
                     .microbatches = 3,
                     .optimizer = {.ema_decay = 0.9}},
          // A head larger than width / heads, and wavelengths in all three of Llama 3's zones.
          ParityCase{.name = "llama",
                     .model = {.family = Family::Llama,
                               .layers = 2,
                               .width = 40,
                               .heads = 6,
                               .kv_heads = 2,
                               .head_size = 14,
                               .mlp_size = 52,
                               .vocabulary = 71,
                               .context = 64,
                               .activation = Activation::Swiglu,
                               .rope_scaling_factor = 8,
                               .rope_original_context = 64,
                               .init_deviation = kDeviation},
                     .shape = {.batch = 3, .seq = 29},
                     .documents = 4,
                     .restart_positions = true,
                     .ignored = 0.3},
          ParityCase{.name = "qwen3",
                     .model = {.family = Family::Qwen,
                               .layers = 2,
                               .width = 32,
                               .heads = 4,
                               .kv_heads = 2,
                               .head_size = 18,
                               .mlp_size = 45,
                               .vocabulary = 83,
                               .context = 64,
                               .activation = Activation::Swiglu,
                               .norm_epsilon = 1e-6,
                               .rope_theta = 1e6,
                               .tied = true,
                               .qk_norm = true,
                               .init_deviation = kDeviation},
                     .shape = {.batch = 2, .seq = 27},
                     .microbatches = 2,
                     .documents = 3,
                     .ignored = 0.2}};
}

// Stretched by YaRN, with pairs in all three of its zones; norms of the small vectors have another
// epsilon than the model's.
ModelConfig with_latent_attention(ModelConfig model) {
  model.kv_heads = 4;
  model.head_size = 22;
  model.kv_rank = 10;
  model.q_rank = 14;
  model.rope_head_size = 12;
  model.value_head_size = 8;
  model.shared_mlp_size = 2 * model.expert_mlp_size;
  model.rope_scaling = RopeScaling::Yarn;
  model.rope_scaling_factor = 8;
  model.rope_high_freq_factor = 4;
  model.rope_original_context = 64;
  model.rope_mscale = 0.7;
  return model;
}

// One field of a mixture after the other differs between them.
std::vector<ParityCase> mixture_cases() {
  const ModelConfig small{.family = Family::Qwen,
                          .layers = 2,
                          .width = 24,
                          .heads = 4,
                          .kv_heads = 2,
                          .mlp_size = 30,
                          .vocabulary = 61,
                          .context = 64,
                          .activation = Activation::Swiglu,
                          .qk_norm = true,
                          .init_deviation = kDeviation,
                          .experts = 6,
                          .top_k = 2,
                          .expert_mlp_size = 22,
                          .balance_loss = 0.5};
  ModelConfig mixtral = small, olmoe = small, deepseek = small;
  mixtral.family = Family::Llama;
  mixtral.qk_norm = false;
  mixtral.router_score = RouterScore::TopkSoftmax;
  olmoe.family = deepseek.family = Family::Llama;
  olmoe.qk_norm_over_heads = true;
  olmoe.normalised_gates = false;
  olmoe.top_k = 3;
  olmoe.balance_scope = BalanceScope::Microbatch;
  olmoe.router_z_loss = 0.1;
  deepseek.layers = 3;
  deepseek.qk_norm = false;
  deepseek.experts = 12;
  deepseek.top_k = 3;
  deepseek.shared_mlp_size = 18;
  deepseek.dense_layers = 1;
  deepseek.router_score = RouterScore::Sigmoid;
  deepseek.routed_scale = 2.5;
  deepseek.expert_groups = 4;
  deepseek.kept_groups = 2;
  const BatchShape shape{.batch = 2, .seq = 23};
  return {ParityCase{.name = "qwen3_moe",
                     .model = small,
                     .shape = shape,
                     .microbatches = 2,
                     .documents = 3,
                     .ignored = 0.2},
          ParityCase{.name = "mixtral", .model = mixtral, .shape = shape, .ignored = 0.1},
          ParityCase{.name = "olmoe", .model = olmoe, .shape = shape},
          ParityCase{.name = "deepseek", .model = deepseek, .shape = shape, .microbatches = 3},
          ParityCase{.name = "deepseek_v3",
                     .model = with_latent_attention(deepseek),
                     .shape = shape,
                     .microbatches = 2,
                     .documents = 3,
                     .restart_positions = true,
                     .ignored = 0.2}};
}

// Biases and tied tables, grouped heads with gate and up in one tensor, experts and shared ones.
std::vector<ParityCase> muon_cases() {
  std::vector<ParityCase> all;
  const auto add = [&](std::string_view name, const ParityCase& like, OptimizerSettings settings) {
    ParityCase muon = like;
    muon.name = name;
    muon.optimizer.op = OpKind::muon;
    muon.optimizer.settings = std::move(settings);
    all.push_back(std::move(muon));
  };
  const std::vector<ParityCase> dense = transformer_cases(), mixtures = mixture_cases();
  add("gpt2_muon", dense[0], {});
  add("llama_muon", dense[1], {{"matched_rms", 0}});
  add("deepseek_v3_muon", mixtures.back(), {{"momentum", 0.9}});
  return all;
}

struct Source {
  const ParityCase& parity_case;
  int step, microbatch;

  RandomStream stream(std::string_view what) const {
    return {0, fmt::format("parity.{}.{}.{}.{}", parity_case.name, what, step, microbatch)};
  }
};

// Which document each position of a row belongs to: cuts at random places, the same for all inputs
// of a batch.
std::vector<int32_t> documents_of_row(const Source& source, int64_t row, int64_t seq) {
  const RandomStream random = source.stream("documents");
  std::vector<int32_t> document(static_cast<size_t>(seq), 0);
  for (int cut = 1; cut < source.parity_case.documents; ++cut) {
    const uint64_t index = static_cast<uint64_t>(row * source.parity_case.documents + cut);
    const auto at = static_cast<size_t>(random.below(index, static_cast<uint64_t>(seq)));
    for (size_t i = at; i < document.size(); ++i) ++document[i];
  }
  return document;
}

int32_t integer_at(const Source& source, const std::string& input, int64_t row, int64_t seq,
                   int64_t column) {
  const auto index = static_cast<uint64_t>(row * seq + column);
  const auto vocabulary = static_cast<uint64_t>(source.parity_case.model.vocabulary);
  if (input == "tokens") return static_cast<int32_t>(source.stream(input).below(index, vocabulary));
  if (input == "labels") {
    const bool ignored = source.stream("ignored").uniform(index) < source.parity_case.ignored;
    return ignored ? -1 : static_cast<int32_t>(source.stream(input).below(index, vocabulary));
  }
  const std::vector<int32_t> document = documents_of_row(source, row, seq);
  const int32_t own = document[static_cast<size_t>(column)];
  if (input == "document") return own;
  TESSERA_CHECK(input == "positions", "{}", input);
  if (!source.parity_case.restart_positions) return static_cast<int32_t>(column);
  const auto begin = std::find(document.begin(), document.end(), own) - document.begin();
  return static_cast<int32_t>(column - begin);
}

}  // namespace

std::span<const ParityCase> parity_cases() {
  static const std::vector<ParityCase> cases = [] {
    std::vector<ParityCase> all = mlp_cases();
    for (ParityCase& parity_case : transformer_cases()) all.push_back(std::move(parity_case));
    for (ParityCase& parity_case : mixture_cases()) all.push_back(std::move(parity_case));
    for (ParityCase& parity_case : muon_cases()) all.push_back(std::move(parity_case));
    return all;
  }();
  return cases;
}

const ParityCase& find_parity_case(std::string_view name) {
  for (const ParityCase& parity_case : parity_cases())
    if (parity_case.name == name) return parity_case;
  throw user_error("there is no parity case {}", name).help("see tessera_parity --list");
}

double learning_rate(int step) { return 0.003 * std::min(1.0, (step + 1) / 4.0); }

std::vector<std::byte> make_batch_input(const ParityCase& parity_case, const std::string& input,
                                        const TensorType& type, int step, int microbatch) {
  const Source source{parity_case, step, microbatch};
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  if (type.dtype == DType::Int32) {
    auto* out = reinterpret_cast<int32_t*>(bytes.data());
    const int64_t seq = type.size_of("seq");
    for (int64_t i = 0; i < type.num_elements(); ++i)
      out[i] = integer_at(source, input, i / seq, seq, i % seq);
    return bytes;
  }
  const RandomStream random = source.stream(input);
  dispatch_float(type.dtype, [&]<typename T>() {
    auto* out = reinterpret_cast<T*>(bytes.data());
    for (int64_t i = 0; i < type.num_elements(); ++i)
      out[i] = store<T>(static_cast<Accumulator<T>>(random.normal(static_cast<uint64_t>(i))));
  });
  return bytes;
}

}  // namespace tessera
