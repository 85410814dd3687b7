// SPDX-License-Identifier: Apache-2.0
#include "config/run_spec.h"

#include <sched.h>

#include <algorithm>
#include <charconv>

#include "config/island_config.h"
#include "config/lora_fields.h"
#include "core/error.h"
#include "core/quantities.h"
#include "mesh/axis_sizes.h"
#include "mesh/expert_axes.h"
#include "models/model_field.h"
#include "models/own_model.h"
#include "models/presets.h"
#include "passes/pipeline/assign_stages.h"
#include "schedule/schedule_csv.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

OptimizerOptions resolve_optimizer(const TrainConfig& train) {
  return {.op = find_optimizer(train.optimizer)->op,
          .settings = train.optimizer_settings,
          .weight_decay = train.weight_decay,
          .clip_norm = train.clip_norm,
          .ema_decay = train.ema_decay,
          .rounding_seed = train.seed,
          .groups = train.groups};
}

constexpr std::string_view kEvenStages = "even";

// "3,2,2,3"
std::vector<int> parse_stages(const std::string& text) {
  std::vector<int> counts;
  if (text == kEvenStages) return counts;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    int count = 0;
    const auto [last, error] = std::from_chars(entry.data(), entry.data() + entry.size(), count);
    if (error != std::errc() || last != entry.data() + entry.size() || count < 1)
      throw user_error("plan.stages is {}, but must be whole numbers of blocks", text)
          .at("plan.stages")
          .help("write one for each stage, such as 3,2,2,3, or even for as many layers in each");
    counts.push_back(count);
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
  return counts;
}

// A custom schedule says itself how many stages a rank has.
int resolve_chunks(const PlanConfig& plan) {
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

Recompute resolve_recompute(const PlanConfig& plan) {
  if (plan.recompute == "cheap") return {.kind = RecomputeKind::Cheap};
  if (plan.recompute == "attention") return {.kind = RecomputeKind::Attention};
  if (plan.recompute == "block_keep_attention") return {.kind = RecomputeKind::KeepAttention};
  if (plan.recompute == "block") return {.kind = RecomputeKind::Blocks, .every = 1};
  if (plan.recompute == "fit") return {.kind = RecomputeKind::Fit};
  if (plan.recompute == "every")
    return {.kind = RecomputeKind::Blocks, .every = static_cast<int>(plan.recompute_every)};
  return {};
}

// Messages between GPUs have room for the most rows that could be, which are never fewer than the
// tokens that a gather sends.
DispatchKind resolve_dispatch(const Config& config) {
  const bool decides = config.plan.dispatch == DispatchKind::Auto;
  return decides && config.run.device != DeviceKind::Cpu ? DispatchKind::Gather
                                                         : config.plan.dispatch;
}

// Scales of tiles and blocks are not those of a piece.
TpOverlap resolve_tp_overlap(const Config& config) {
  const TpOverlap asked = config.plan.tp_overlap;
  if (!resolve_precision(config).fp8 || config.train.fp8_scaling != "block") return asked;
  if (asked == TpOverlap::Ring)
    throw user_error(
        "plan.tp_overlap = ring cuts matmuls into pieces, but with train.fp8_scaling = block their "
        "scales are those of the whole")
        .at("plan.tp_overlap")
        .help("use plan.tp_overlap = off, or train.fp8_scaling = tensor");
  return TpOverlap::Off;
}

Offload resolve_offload(const Config& config) {
  Offload offload = parse_offload(config.plan.offload);
  offload.update_on_host = config.plan.offload_update == "host";
  return offload;
}

Plan resolve_plan(const Config& config, const ModelConfig& model) {
  const PlanRequest request{.mesh = config.mesh,
                            .zero = resolve_zero(config),
                            .shard_axes = config.plan.shard_axes == "auto"
                                              ? std::vector<std::string>{}
                                              : parse_axis_list(config.plan.shard_axes),
                            .experts = parse_axis_list(config.plan.experts),
                            .dispatch = resolve_dispatch(config),
                            .sequence_parallel = config.plan.sequence_parallel,
                            .tp_overlap = resolve_tp_overlap(config),
                            .context = config.plan.context,
                            .reduce_dtype = dtype_from_name(config.plan.reduce_dtype),
                            .dims = config.plan_dims,
                            .schedule = config.plan.schedule,
                            .actions = config.plan.actions,
                            .chunks = resolve_chunks(config.plan),
                            .recompute = resolve_recompute(config.plan),
                            .blocks_per_stage = parse_stages(config.plan.stages),
                            .offload = resolve_offload(config)};
  PlanSizes sizes;
  if (model.has_sequence())
    sizes = {.kv_heads = model.kv_heads,
             .heads = model.heads,
             .experts = model.experts,
             .top_k = model.top_k};
  Plan plan = make_plan(request, sizes);
  if (config.plan.stages == kEvenStages) {
    const int chunks = plan.chunks > 0 ? plan.chunks : schedule_kind(plan.schedule).least_chunks;
    plan.blocks_per_stage =
        even_stages(static_cast<int>(model.layers) + 2, plan.pipeline_ranks() * chunks);
  }
  const int cp = plan.mesh.find("cp");
  if (!model.has_sequence() && cp >= 0 && plan.mesh.size(cp) > 1)
    throw user_error("mesh cp = {} splits the sequence, but family {} has none", plan.mesh.size(cp),
                     name(model.family))
        .help("use dp, fsdp or tp");
  if (resolve_precision(config).fp8)
    plan.fp8 = {.gradients = *fp8_from_name(config.train.fp8_gradients),
                .blocks = config.train.fp8_scaling == "block",
                .at_use = config.plan.fp8_weights == "use",
                .fast_forward = config.train.fp8_fast_sums != "none",
                .fast_backward = config.train.fp8_fast_sums == "all"};
  plan.expert_room = parse_expert_room(config.plan.expert_room);
  plan.keys = config.plan;
  return plan;
}

void check_zigzag(const Plan& plan, int64_t seq) {
  const int64_t chunks = 2 * plan.zigzag;
  if (plan.zigzag <= 1 || seq % chunks == 0) return;
  throw user_error("cannot cut a sequence of {} into {} chunks for a ring of {} ranks", seq, chunks,
                   plan.zigzag)
      .at("train.seq")
      .help(fmt::format("use a multiple of 2 x cp: {} or {}",
                        std::max(chunks, seq / chunks * chunks), (seq / chunks + 1) * chunks));
}

BatchShape resolve_microbatch(const TrainConfig& train, const ModelConfig& model) {
  TESSERA_CHECK(train.batch % train.microbatches == 0, "{} in {} microbatches", train.batch,
                train.microbatches);
  const BatchShape shape{.batch = train.batch / train.microbatches, .seq = train.seq};
  check_batch_shape(model, shape);
  return shape;
}

// All but the shapes: the config's sequence need not fit the plan.
RunSpec resolve_without_shapes(const Config& config) {
  RunSpec spec{.model = resolve_model(config),
               .own_model = config.own_model,
               .precision = resolve_precision(config),
               .microbatches = static_cast<int>(config.train.microbatches),
               .optimizer = resolve_optimizer(config.train),
               .device = config.run.device,
               .threads = resolve_threads(config),
               .snapshots = config.checkpoint.every > 0 && config.run.device == DeviceKind::Cpu,
               .repeatable = config.train.repeatable};
  spec.plan = resolve_plan(config, spec.model);
  if (!config.plan.memory.empty())
    spec.memory_bytes = parse_byte_size(config.plan.memory, "plan.memory");
  return spec;
}

// Two of them on a rank that shares them with others, so that choices differ and some go nowhere.
void shrink_experts(ModelConfig& model, const Plan& plan, int64_t tp) {
  if (!model.has_experts()) return;
  const int64_t fewest = model.expert_groups > 1 ? 8 : 4;  // several in a group, to choose from
  model.experts = std::max<int64_t>(fewest, 2 * plan.mesh.size(expert_axes(plan)));
  model.top_k = std::min<int64_t>(model.top_k, 2);
  model.expert_mlp_size = 5 * tp;
  if (model.shared_mlp_size > 0) model.shared_mlp_size = 3 * tp;
  model.dense_layers = std::min<int64_t>(model.dense_layers, 1);
  model.expert_groups = std::min<int64_t>(model.expert_groups, 2);
  model.kept_groups = 1;
}

}  // namespace

int64_t RunSpec::tokens_per_step() const {
  return model.has_sequence() ? batch() * seq() : batch();
}

int RunSpec::threads_per_rank() const {
  return device == DeviceKind::Cpu ? std::max(1, threads / plan.mesh.num_ranks()) : 1;
}

RunSpec resolve(const Config& given) {
  const Config config = one_island(given);
  RunSpec spec = resolve_without_shapes(config);
  check_zigzag(spec.plan, config.train.seq);
  spec.microbatch = resolve_microbatch(config.train, spec.model);
  return spec;
}

RunSpec resolve_shrunk(const Config& given) {
  const Config config = one_island(given);
  RunSpec spec = resolve_without_shapes(config);
  if (spec.own_model)
    throw user_error("the model {} is the program's own, of which no small one is known",
                     spec.own_model->name)
        .help("verify it as it is, or bring a small one");
  const ShrunkModel small = shrink_model(spec.model, spec.plan);
  spec.model = small.model;
  spec.microbatch = small.microbatch;
  return spec;
}

ModelConfig resolve_model(const Config& config) {
  if (config.own_model) {
    ModelConfig own = config.own_model->sizes;
    if (config.own_model->context == 0) own.context = config.train.seq;
    own.lora = resolve_lora(config.lora);
    return own;
  }
  const std::string preset = preset_name(config);
  if (preset == kOwnPreset)
    throw user_error("the model {} is a program's own, and this program does not have it",
                     model_name(config))
        .at("model.preset")
        .help("continue and read the run with the program that trained it (docs/library.md)");
  ModelConfig model = preset == kCustom ? ModelConfig{} : find_preset(preset).config;
  for (const auto& [key, text] : config.model)
    if (key != "preset") set_model_field(model, key, text);
  model.lora = resolve_lora(config.lora);
  return resolved(model);
}

Precision resolve_precision(const Config& config) {
  const auto precision = precision_from_name(config.train.precision);
  TESSERA_CHECK(precision, "precision {}", config.train.precision);
  return *precision;
}

int resolve_zero(const Config& config) {
  const std::string& zero = config.plan.zero;
  const std::optional<int> asked =
      zero == "auto" ? std::nullopt : std::optional<int>(std::stoi(zero));
  return zero_level(asked, Mesh(config.mesh));
}

int resolve_threads(const Config& config) {
  if (config.train.threads > 0) return static_cast<int>(config.train.threads);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

Config with_mesh(Config config, const std::vector<Axis>& mesh) {
  config.mesh = mesh;
  if (mesh.empty()) {
    PlanConfig plan;
    plan.recompute = config.plan.recompute;
    plan.recompute_every = config.plan.recompute_every;
    config.plan = plan;
    config.plan_dims.clear();
  }
  return config;
}

ShrunkModel shrink_model(const ModelConfig& model, const Plan& plan) {
  const AxisSizes ranks = sizes_of(plan.mesh.axes());
  const int group = plan.mesh.find("tp.group");
  const int64_t tp_group = group < 0 ? 1 : plan.mesh.size(group);
  const int64_t tp_kv = ranks[AxisKind::Tp] / tp_group, cp = ranks[AxisKind::Cp];
  ShrunkModel shrunk{.model = model, .microbatch = {.batch = 2 * ranks.data_ranks(), .seq = 1}};
  ModelConfig& small = shrunk.model;
  // Several in every chunk, since what is in flight grows with them, and not the same in each.
  constexpr int64_t kBlocksPerChunk = 3;
  const int64_t chunks = plan.pipeline_ranks() * std::max(plan.chunks, 2);
  const int64_t layers = plan.pipeline_ranks() > 1 ? kBlocksPerChunk * chunks + 1 : 3;
  if (plan.blocks_per_stage.empty()) small.layers = std::min(model.layers, layers);
  small.mlp_size = 6 * tp_kv * tp_group;
  if (!model.has_sequence()) {
    small.width = 10;
    return shrunk;
  }
  const bool grouped = model.heads > model.kv_heads;
  // Ulysses splits heads over cp too.
  bool ulysses = false;
  if (cp > 1) plan.dims_of(plan.mesh.find("cp"), "attention", ulysses);
  small.kv_heads = tp_kv * (ulysses ? cp : 1);
  small.heads = small.kv_heads * (grouped ? std::max<int64_t>(2, tp_group) : 1);
  const bool free_head_size = model.head_size != model.width / model.heads;
  small.head_size = 4;
  small.width = free_head_size ? small.heads * 4 + 2 : small.heads * 4;
  if (model.has_latent_attention()) {
    small.head_size = 6;
    small.rope_head_size = 2;
    small.value_head_size = 4;
    small.kv_rank = 5;
    small.q_rank = std::min<int64_t>(model.q_rank, 7);
  }
  small.vocabulary = 31;  // divides by nothing, so that padding is at work
  shrunk.microbatch.seq = std::max<int64_t>(8, 2 * cp * tp_kv * tp_group);
  small.context = std::max<int64_t>(shrunk.microbatch.seq, 16);
  small.rope_original_context = std::min(model.rope_original_context, small.context);
  small.init_deviation = 0.1;
  shrink_experts(small, plan, tp_kv * tp_group);
  return shrunk;
}

}  // namespace tessera
