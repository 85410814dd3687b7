// SPDX-License-Identifier: Apache-2.0
#include "config/plan_of_config.h"

#include <algorithm>
#include <charconv>

#include "config/model_of_config.h"
#include "core/byte_size.h"
#include "core/error.h"
#include "schedule/schedule_csv.h"

namespace tessera {
namespace {

// "3,2,2,3"
std::vector<int> parse_stages(const std::string& text) {
  std::vector<int> counts;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    int count = 0;
    const auto [last, error] = std::from_chars(entry.data(), entry.data() + entry.size(), count);
    if (error != std::errc() || last != entry.data() + entry.size() || count < 1)
      throw user_error("plan.stages is {}, want whole numbers of blocks", text)
          .at("plan.stages")
          .help("write one for each stage, such as 3,2,2,3");
    counts.push_back(count);
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
  return counts;
}

// "fsdp,cp"
std::vector<std::string> parse_shard_axes(const std::string& text) {
  std::vector<std::string> axes;
  for (std::string_view rest = text == "auto" ? "" : text; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    axes.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return axes;
}

// A custom schedule says itself how many stages a rank has.
int chunks_of(const PlanConfig& plan) {
  const bool custom = plan.schedule == "custom";
  if (custom && plan.actions.empty())
    throw user_error("plan.schedule is custom, and no file of actions is given")
        .at("plan.actions")
        .help("set plan.actions = \"FILE.csv\"; tessera schedule --csv FILE writes one");
  if (!custom && !plan.actions.empty())
    throw user_error("plan.actions is {}, but plan.schedule is {}", plan.actions, plan.schedule)
        .at("plan.schedule")
        .help("set plan.schedule = \"custom\"");
  if (custom && plan.chunks == 0) return read_schedule_csv(plan.actions).chunks;
  return static_cast<int>(plan.chunks);
}

}  // namespace

Recompute recompute_of_config(const Config& config) {
  const PlanConfig& plan = config.plan;
  if (plan.recompute == "cheap") return {.kind = RecomputeKind::Cheap};
  if (plan.recompute == "attention") return {.kind = RecomputeKind::Attention};
  if (plan.recompute == "block") return {.kind = RecomputeKind::Blocks, .every = 1};
  if (plan.recompute == "fit") return {.kind = RecomputeKind::Fit};
  if (plan.recompute == "every")
    return {.kind = RecomputeKind::Blocks, .every = static_cast<int>(plan.recompute_every)};
  return {};
}

Plan plan_to_shrink(const Config& config, const ModelConfig& model) {
  PlanRequest request{
      .mesh = config.mesh,
      .zero = zero_of_config(config),
      .shard_axes = parse_shard_axes(config.plan.shard_axes),
      .sequence_parallel = config.plan.sequence_parallel,
      .context = config.plan.context == "ulysses" ? ContextKind::Ulysses : ContextKind::Ring,
      .reduce_dtype = dtype_from_name(config.plan.reduce_dtype),
      .dims = config.plan_dims,
      .schedule = config.plan.schedule,
      .actions = config.plan.actions,
      .chunks = chunks_of(config.plan),
      .recompute = recompute_of_config(config),
      .blocks_per_stage = parse_stages(config.plan.stages)};
  PlanSizes sizes;
  if (model.has_sequence()) sizes = {.kv_heads = model.kv_heads, .heads = model.heads};
  Plan plan = make_plan(request, sizes);
  const int cp = plan.mesh.find("cp");
  if (!model.has_sequence() && cp >= 0 && plan.mesh.size(cp) > 1)
    throw user_error("mesh cp = {} splits the sequence, but family {} has none", plan.mesh.size(cp),
                     name(model.family))
        .help("use dp, fsdp or tp");
  return plan;
}

Plan plan_of_config(const Config& config, const ModelConfig& model) {
  Plan plan = plan_to_shrink(config, model);
  plan.fp8 = precision_of_config(config).fp8;
  const int64_t chunks = 2 * plan.zigzag, seq = config.train.seq;
  if (plan.zigzag > 1 && seq % chunks != 0)
    throw user_error("cannot cut a sequence of {} into {} chunks for a ring of {} ranks", seq,
                     chunks, plan.zigzag)
        .at("train.seq")
        .help(fmt::format("use a multiple of 2 x cp: {} or {}",
                          std::max(chunks, seq / chunks * chunks), (seq / chunks + 1) * chunks));
  return plan;
}

int zero_of_config(const Config& config) {
  const std::string& zero = config.plan.zero;
  const std::optional<int> asked =
      zero == "auto" ? std::nullopt : std::optional<int>(std::stoi(zero));
  return zero_level(asked, Mesh(config.mesh));
}

DeviceProfile profile_of_config(const Config& config, int threads_per_rank) {
  return {.threads = threads_per_rank,
          .memory_bytes =
              config.plan.memory.empty() ? 0 : parse_byte_size(config.plan.memory, "plan.memory")};
}

int threads_per_rank(int threads, const Plan& plan) {
  return std::max(1, threads / plan.mesh.num_ranks());
}

}  // namespace tessera
