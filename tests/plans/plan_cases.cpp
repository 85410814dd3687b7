// SPDX-License-Identifier: Apache-2.0
#include "plan_cases.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "core/random.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

using enum AxisKind;

constexpr int kMostRanks = 8;
constexpr int64_t kHeads = 24, kKvHeads = 2, kExperts = 8;

bool is_mixture(const std::string& model) { return model == "Moe" || model == "DeepSeek"; }

void make_deepseek(ModelConfig& config) {
  config.family = Family::Llama;
  config.kv_heads = kHeads;
  config.head_size = 6;
  config.kv_rank = 5;
  config.q_rank = 7;
  config.rope_head_size = 4;
  config.value_head_size = 3;
  config.rope_scaling = RopeScaling::Yarn;
  config.rope_scaling_factor = 4;
  config.rope_original_context = 16;
  config.rope_mscale = 1;
  config.layers = 3;
  config.dense_layers = 1;
  config.shared_mlp_size = 48;
  config.router_score = RouterScore::Sigmoid;
  config.routed_scale = 2.5;
  config.expert_groups = 4;
  config.kept_groups = 2;
}

// Heads and mlp divide by 2, 3, 4, 6 and 8; vocabularies by nothing; grouped models have fewer
// key/value heads than tp = 4 and 8.
ModelConfig model_config(const std::string& name) {
  ModelConfig config{.layers = 2,
                     .width = kHeads,
                     .heads = kHeads,
                     .kv_heads = kKvHeads,
                     .head_size = 2,
                     .mlp_size = 24,
                     .vocabulary = 29,
                     .context = 64,
                     .activation = Activation::Swiglu,
                     .init_deviation = 0.2};
  if (name == "Mlp")
    return resolved({.family = Family::Mlp,
                     .layers = 3,
                     .width = 10,
                     .mlp_size = 24,
                     .activation = Activation::Gelu,
                     .bias = true});
  if (name == "Gpt") {
    config.family = Family::Gpt;
    config.kv_heads = kHeads;
    config.width = 2 * kHeads;
    config.activation = Activation::GeluTanh;
    config.tied = config.bias = true;
  }
  if (name == "Llama") {
    config.family = Family::Llama;
    config.width = 2 * kHeads;
    config.rope_scaling_factor = 4;
    config.rope_original_context = 8;
  }
  if (name == "DeepSeek") make_deepseek(config);
  if (is_mixture(name)) {
    config.experts = kExperts;
    config.top_k = 2;
    config.expert_mlp_size = 24;
    config.balance_loss = 0.1;
    config.router_z_loss = 0.01;
    config.balance_rate = 0.05;
  }
  if (name == "Qwen" || name == "Moe") {
    config.family = Family::Qwen;
    config.head_size = 4;
    config.tied = config.qk_norm = true;
    config.vocabulary = 31;
  }
  return resolved(config);
}

// Rows are exchanged between ranks that have other tokens and other experts.
bool may_exchange(const PlanCase& c) {
  const bool folds_tp = c.experts != "ep", folds_cp = c.experts == "cp+tp";
  const int sharers = (folds_cp ? c.axes[Cp] : c.axes[Ep]) * (folds_tp ? c.axes[Tp] : 1);
  return is_mixture(c.model) && sharers > 1 && (!folds_tp || c.sequence_parallel);
}

// Ranks that share the experts divide them; where no rank would, the axes make no difference.
bool are_legal_experts(const PlanCase& c) {
  const int ep = c.axes[Ep], cp = c.axes[Cp], tp = c.axes[Tp];
  if (c.exchange && !may_exchange(c)) return false;
  if (c.experts == "ep") return !is_mixture(c.model) || kExperts % ep == 0;
  if (!is_mixture(c.model) || tp == 1) return false;
  if (c.experts == "ep+tp") return kExperts % (ep * tp) == 0;
  return cp > 1 && kExperts % (cp * tp) == 0;
}

bool is_legal(const PlanCase& c) {
  const bool mlp = c.model == "Mlp";
  const int cp = c.axes[Cp], tp = c.axes[Tp];
  if (c.zero == 0 && c.axes.sharding_axis()) return false;
  if (c.zero > 0 && c.axes.state_shards() == 1) return false;  // nothing to shard over
  // Without experts it is one more axis of samples: it takes the place of dp.
  if (c.axes[Ep] > 1 && c.axes[Dp] > 1 && !is_mixture(c.model)) return false;
  if (!are_legal_experts(c)) return false;
  if (c.ulysses && cp == 1) return false;                     // no choice to make
  if (c.sequence_parallel && (tp == 1 || mlp)) return false;  // likewise
  if (mlp) return cp == 1 && 24 % tp == 0;
  const bool grouped = c.model != "Gpt" && c.model != "DeepSeek";
  const int64_t kv_heads = grouped ? kKvHeads : kHeads;
  const int64_t shared = std::gcd<int64_t>(tp, kv_heads);
  if (kHeads / kv_heads % (tp / shared) != 0) return false;
  return !c.ulysses || kv_heads % (shared * cp) == 0;
}

const std::vector<std::string> kModels{"Mlp", "Gpt", "Llama", "Qwen", "Moe", "DeepSeek"};
const std::vector<std::string> kSchedules = [] {
  std::vector<std::string> names;
  for (const ScheduleKind& kind : schedule_kinds()) names.emplace_back(kind.name);
  return names;
}();
const std::vector<std::string> kRecomputes{"none",  "cheap", "attention", "block",
                                           "every", "sqrt",  "fit",       "block_keep_attention"};

const std::vector<std::string> kExpertAxes{"ep", "ep+tp", "cp+tp"};

int place_in(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

// The choices of a case, by factor, as small numbers.
constexpr size_t kFactors = 10 + kNumAxes;
std::array<int, kFactors> choices(const PlanCase& c) {
  std::array<int, kFactors> chosen{place_in(kModels, c.model),
                                   c.zero,
                                   c.ulysses,
                                   c.sequence_parallel,
                                   c.microbatches,
                                   c.chunks,
                                   place_in(kSchedules, c.schedule),
                                   place_in(kRecomputes, c.recompute),
                                   place_in(kExpertAxes, c.experts),
                                   c.exchange};
  for (size_t i = 0; i < kNumAxes; ++i) chosen[10 + i] = c.axes[kAxes[i].axis];
  return chosen;
}

// Every pair of a case's choices, as a number of its own: factor and choice of the one, of the
// other.
constexpr size_t kPairs = kFactors * (kFactors - 1) / 2, kChoices = 16;
using Pairs = std::array<uint32_t, kPairs>;

Pairs pairs(const PlanCase& c) {
  const std::array<int, kFactors> chosen = choices(c);
  Pairs found{};
  size_t at = 0;
  for (size_t i = 0; i < kFactors; ++i)
    for (size_t j = i + 1; j < kFactors; ++j)
      found[at++] = static_cast<uint32_t>(
          ((i * kFactors + j) * kChoices + static_cast<size_t>(chosen[i])) * kChoices +
          static_cast<size_t>(chosen[j]));
  return found;
}

bool is_legal_pipeline(const PlanCase& c) {
  if (!is_legal(c) || c.axes.ranks() > kMostRanks) return false;
  if (c.pp() == 1 && (c.schedule != "1f1b" || c.chunks > 1 || c.recompute == "none")) return false;
  if (!schedule_kind(c.schedule).takes_chunks(c.chunks)) return false;
  return c.model != "Mlp" || c.recompute.find("attention") == std::string::npos;  // it has none
}

// The n-th of a long list of cases, legal or not.
PlanCase made_case(uint64_t n) {
  const RandomStream random(11, "pipelines");
  uint64_t draws = 0;
  const auto draw = [&](const auto& choices) {
    const auto size = static_cast<uint64_t>(std::size(choices));
    return choices[random.below(n * 32 + draws++, size)];
  };
  const std::vector<int> sizes{1, 1, 2}, halves{1, 2};
  PlanCase c;
  c.model = draw(kModels);
  for (const AxisRow& row : kAxes)
    if (row.axis != Pp) c.axes[row.axis] = draw(sizes);
  c.zero = draw(std::vector<int>{0, 1, 2, 3});
  c.ulysses = draw(halves) == 2;
  c.sequence_parallel = draw(halves) == 2;
  c.microbatches = draw(std::vector<int>{1, 3, 4, 7});
  c.axes[Pp] = draw(std::vector<int>{1, 2, 2, 4});
  c.chunks = draw(halves);
  c.schedule = draw(kSchedules);
  c.recompute = draw(kRecomputes);
  c.experts = draw(kExpertAxes);
  c.exchange = draw(halves) == 2;
  return c;
}

// Greedy: always the case that adds most pairs. Every test process does this before it runs one
// test, so it must be quick.
std::vector<PlanCase> covering(const std::vector<PlanCase>& all) {
  std::vector<char> open(kFactors * kFactors * kChoices * kChoices, 0);
  std::vector<Pairs> pairs_of;
  for (const PlanCase& c : all)
    for (const uint32_t pair : pairs_of.emplace_back(pairs(c))) open[pair] = 1;
  std::vector<PlanCase> chosen;
  while (true) {
    size_t best = 0;
    int most = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      int gain = 0;
      for (const uint32_t pair : pairs_of[i]) gain += open[pair];
      if (gain > most) {
        best = i;
        most = gain;
      }
    }
    if (most == 0) return chosen;
    for (const uint32_t pair : pairs_of[best]) open[pair] = 0;
    chosen.push_back(all[best]);
  }
}

// In the order of the table, the last axis counting up first.
std::vector<AxisSizes> meshes_without_a_pipeline() {
  std::vector<AxisSizes> meshes{AxisSizes()};
  for (const AxisRow& row : kAxes) {
    if (row.axis == Pp) continue;
    std::vector<AxisSizes> longer;
    for (AxisSizes mesh : meshes)
      for (int others = mesh.ranks(), size = 1; others * size <= kMostRanks; ++size) {
        mesh[row.axis] = size;
        longer.push_back(mesh);
      }
    meshes = std::move(longer);
  }
  return meshes;
}

Recompute recompute_of(const std::string& name) {
  if (name == "cheap") return {.kind = RecomputeKind::Cheap};
  if (name == "attention") return {.kind = RecomputeKind::Attention};
  if (name == "block_keep_attention") return {.kind = RecomputeKind::KeepAttention};
  if (name == "block") return {.kind = RecomputeKind::Blocks, .every = 1};
  if (name == "every") return {.kind = RecomputeKind::Blocks, .every = 2};
  if (name == "sqrt") return {.kind = RecomputeKind::Blocks, .every = 0};
  return {};
}

// Half-way between what fits without rebuilding anything and with all of it.
int64_t tight_memory(RunSpec spec) {
  const auto most = [&](Recompute recompute) {
    spec.plan.recompute = recompute;
    return most_bytes(compile(spec).programs);
  };
  return (most({}) + most({.kind = RecomputeKind::Blocks})) / 2;
}

}  // namespace

std::string PlanCase::name() const {
  std::string text = model;
  for (const AxisRow& row : kAxes)
    if (row.axis != Pp) text += fmt::format("_{}{}", row.name, axes[row.axis]);
  text += fmt::format("_zero{}{}{}_micro{}", zero,
                      axes[Cp] == 1 ? ""
                      : ulysses     ? "_ulysses"
                                    : "_ring",
                      sequence_parallel ? "_sp" : "", microbatches);
  if (experts != "ep") text += experts == "ep+tp" ? "_experts_ep_tp" : "_experts_cp_tp";
  if (exchange) text += "_exchange";
  if (pp() > 1) text += fmt::format("_pp{}x{}_{}", pp(), chunks, schedule);
  if (layers > 0) text += fmt::format("_layers{}", layers);
  if (optimizer != "adamw") text += "_" + optimizer;
  if (recompute != "none") text += "_" + recompute;
  if (in_rings) text += "_in_rings";
  if (lora_rank > 0) text += fmt::format("_lora{}", lora_rank);
  for (const char c : frozen.empty() ? "" : "_frozen_" + frozen)
    text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  for (const char c : offload == "none" ? "" : "_" + offload) text += c == ',' ? '_' : c;
  return update_on_host ? text + "_updated_there" : text;
}

RunSpec PlanCase::spec() const {
  ModelConfig config = model_config(model);
  // Several in every chunk, since what is in flight grows with them, and not the same in each.
  if (pp() > 1) config.layers = 3 * pp() * chunks + 1;
  if (layers > 0) config.layers = layers;
  config.lora = {.rank = lora_rank, .alpha = 8};
  PlanRequest plan{.mesh = axes.all(),
                   .zero = zero,
                   .experts = parse_axis_list(experts),
                   .dispatch = exchange ? DispatchKind::Exchange : DispatchKind::Gather,
                   .sequence_parallel = sequence_parallel,
                   .tp_overlap = in_rings ? TpOverlap::Ring : TpOverlap::Off,
                   .context = ulysses ? ContextKind::Ulysses : ContextKind::Ring,
                   .reduce_dtype = {},
                   .dims = {},
                   .schedule = schedule,
                   .chunks = chunks,
                   .recompute = recompute_of(recompute),
                   .offload = parse_offload(offload)};
  plan.offload.update_on_host = update_on_host;
  // Long enough for several documents in a row, and for labels that count and do not.
  const int64_t cp = axes[Cp], tp = axes[Tp];
  const int64_t pieces = std::lcm(2 * cp, cp * tp), seq = (7 / pieces + 1) * pieces;
  RunSpec spec{.model = config,
               .precision = DType::Fp64,
               .microbatch = {.batch = axes.data_ranks(), .seq = seq},
               .microbatches = microbatches,
               .optimizer = {.op = find_optimizer(optimizer)->op, .ema_decay = 0.9},
               .plan = make_plan(plan, {.kv_heads = model == "Mlp" ? 0 : config.kv_heads,
                                        .experts = config.experts})};
  if (!frozen.empty()) spec.optimizer.groups = {{.pattern = frozen, .frozen = true}};
  if (recompute == "fit") {
    spec.memory_bytes = tight_memory(spec);
    spec.plan.recompute = {.kind = RecomputeKind::Fit};
  }
  return spec;
}

std::vector<PlanCase> all_plan_cases() {
  std::vector<PlanCase> cases;
  for (const std::string& model : kModels)
    for (const AxisSizes& axes : meshes_without_a_pipeline())
      for (int zero = 0; zero <= 3; ++zero)
        for (const bool ulysses : {false, true})
          for (const bool sequence_parallel : {false, true})
            for (const int microbatches : {1, 3})
              for (const std::string& experts : kExpertAxes)
                for (const bool exchange : {false, true}) {
                  PlanCase c{model, axes, zero, ulysses, sequence_parallel, microbatches};
                  c.experts = experts;
                  c.exchange = exchange;
                  if (is_legal(c)) cases.push_back(c);
                }
  return cases;
}

std::vector<PlanCase> covering_plan_cases() {
  const std::vector<PlanCase> all = all_plan_cases();
  const Permutation order(all.size(), RandomStream(7, "plans"));
  std::vector<PlanCase> shuffled;
  for (uint64_t i = 0; i < all.size(); ++i) shuffled.push_back(all[order(i)]);
  return covering(shuffled);
}

std::vector<PlanCase> with_optimizer(std::vector<PlanCase> cases, const std::string& optimizer) {
  for (PlanCase& c : cases) c.optimizer = optimizer;
  return cases;
}

std::vector<PlanCase> covering_pipeline_cases() {
  constexpr uint64_t kMade = 20000;
  std::vector<PlanCase> legal;
  for (uint64_t n = 0; n < kMade; ++n)
    if (const PlanCase c = made_case(n); is_legal_pipeline(c)) legal.push_back(c);
  std::vector<PlanCase> chosen = covering(legal);
  chosen.push_back({.model = "Llama",
                    .axes = {{Pp, 2}, {Dp, 2}, {Fsdp, 2}, {Cp, 2}, {Tp, 2}},
                    .zero = 3,
                    .sequence_parallel = true,
                    .microbatches = 3,
                    .chunks = 2,
                    .schedule = "interleaved_1f1b",
                    .recompute = "every"});
  chosen.push_back({.model = "Moe",
                    .axes = {{Pp, 2}, {Dp, 2}, {Fsdp, 2}, {Ep, 2}, {Cp, 2}, {Tp, 2}},
                    .zero = 3,
                    .sequence_parallel = true,
                    .microbatches = 3,
                    .recompute = "block",
                    .experts = "ep+tp"});
  PlanCase exchanged = chosen.back();
  exchanged.exchange = true;
  chosen.push_back(exchanged);
  return chosen;
}

}  // namespace tessera
