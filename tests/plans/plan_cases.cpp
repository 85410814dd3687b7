// SPDX-License-Identifier: Apache-2.0
#include "plan_cases.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "core/random.h"

namespace tessera {
namespace {

constexpr int kMostRanks = 8;
constexpr int64_t kHeads = 24, kKvHeads = 2;

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
  if (name == "Qwen") {
    config.family = Family::Qwen;
    config.head_size = 4;
    config.tied = config.qk_norm = true;
    config.vocabulary = 31;
  }
  return resolved(config);
}

bool is_legal(const PlanCase& c) {
  const bool mlp = c.model == "Mlp";
  if (c.fsdp > 1 && c.zero == 0) return false;
  if (c.zero > 0 && c.dp * c.fsdp == 1) return false;           // nothing to shard over
  if (c.ulysses && c.cp == 1) return false;                     // no choice to make
  if (c.sequence_parallel && (c.tp == 1 || mlp)) return false;  // likewise
  if (mlp) return c.cp == 1 && 24 % c.tp == 0;
  const int64_t kv_heads = c.model == "Gpt" ? kHeads : kKvHeads;
  const int64_t shared = std::gcd<int64_t>(c.tp, kv_heads);
  if (kHeads / kv_heads % (c.tp / shared) != 0) return false;
  return !c.ulysses || kv_heads % (shared * c.cp) == 0;
}

// The choices of a case, by factor, as small numbers.
std::array<int, 9> choices(const PlanCase& c) {
  const int model = c.model == "Mlp" ? 0 : c.model == "Gpt" ? 1 : c.model == "Llama" ? 2 : 3;
  return {model, c.dp, c.fsdp, c.cp, c.tp, c.zero, c.ulysses, c.sequence_parallel, c.microbatches};
}

using Pair = std::array<int, 4>;  // factor, choice, factor, choice

std::vector<Pair> pairs(const PlanCase& c) {
  const std::array<int, 9> chosen = choices(c);
  std::vector<Pair> found;
  for (int i = 0; i < 9; ++i)
    for (int j = i + 1; j < 9; ++j)
      found.push_back({i, chosen[static_cast<size_t>(i)], j, chosen[static_cast<size_t>(j)]});
  return found;
}

}  // namespace

std::string PlanCase::name() const {
  return fmt::format("{}_dp{}_fsdp{}_cp{}_tp{}_zero{}{}{}_micro{}", model, dp, fsdp, cp, tp, zero,
                     cp == 1   ? ""
                     : ulysses ? "_ulysses"
                               : "_ring",
                     sequence_parallel ? "_sp" : "", microbatches);
}

VerifyRequest PlanCase::request() const {
  const ModelConfig config = model_config(model);
  PlanRequest plan{.mesh = {{"dp", dp}, {"fsdp", fsdp}, {"cp", cp}, {"tp", tp}},
                   .zero = zero,
                   .sequence_parallel = sequence_parallel,
                   .context = ulysses ? ContextKind::Ulysses : ContextKind::Ring,
                   .reduce_dtype = {},
                   .dims = {}};
  const int64_t seq = std::lcm<int64_t>(2 * cp, cp * tp);
  return {.model = config,
          .microbatch = {.batch = dp * fsdp, .seq = seq < 6 ? 2 * seq + 4 * (seq == 1) : seq},
          .microbatches = microbatches,
          .precision = DType::Fp64,
          .optimizer = {.ema_decay = 0.9},
          .plan = make_plan(plan, {.kv_heads = model == "Mlp" ? 0 : config.kv_heads}),
          .steps = 2,
          .poison = true};
}

std::vector<PlanCase> all_plan_cases() {
  std::vector<PlanCase> cases;
  for (const char* model : {"Mlp", "Gpt", "Llama", "Qwen"})
    for (int dp = 1; dp <= kMostRanks; ++dp)
      for (int fsdp = 1; dp * fsdp <= kMostRanks; ++fsdp)
        for (int cp = 1; dp * fsdp * cp <= kMostRanks; ++cp)
          for (int tp = 1; dp * fsdp * cp * tp <= kMostRanks; ++tp)
            for (int zero = 0; zero <= 3; ++zero)
              for (const bool ulysses : {false, true})
                for (const bool sequence_parallel : {false, true})
                  for (const int microbatches : {1, 3}) {
                    const PlanCase c{
                        model, dp, fsdp, cp, tp, zero, ulysses, sequence_parallel, microbatches};
                    if (is_legal(c)) cases.push_back(c);
                  }
  return cases;
}

// Greedy: of a shuffled list, always the case that adds most pairs.
std::vector<PlanCase> covering_plan_cases() {
  std::vector<PlanCase> all = all_plan_cases();
  const Permutation order(all.size(), RandomStream(7, "plans"));
  std::vector<PlanCase> shuffled;
  for (uint64_t i = 0; i < all.size(); ++i) shuffled.push_back(all[order(i)]);
  std::set<Pair> open;
  for (const PlanCase& c : all)
    for (const Pair& pair : pairs(c)) open.insert(pair);
  std::vector<PlanCase> chosen;
  while (!open.empty()) {
    const auto gain = [&](const PlanCase& c) {
      const std::vector<Pair> own = pairs(c);
      return std::count_if(own.begin(), own.end(), [&](const Pair& p) { return open.contains(p); });
    };
    const auto best =
        std::max_element(shuffled.begin(), shuffled.end(),
                         [&](const PlanCase& a, const PlanCase& b) { return gain(a) < gain(b); });
    for (const Pair& pair : pairs(*best)) open.erase(pair);
    chosen.push_back(*best);
  }
  return chosen;
}

}  // namespace tessera
