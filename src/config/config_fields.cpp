// SPDX-License-Identifier: Apache-2.0
#include "config/config_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/island_fields.h"
#include "config/lora_fields.h"
#include "config/other_words.h"
#include "core/choices.h"
#include "core/error.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

constexpr Bounds kFraction{0, 1};
constexpr Bounds kMicrobatches{1, 16384};  // a script lists each: more take minutes to compile

std::string without_underscores(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  return digits;
}

template <typename T>
bool parse_number(const std::string& text, T& number) {
  const std::string digits = without_underscores(text);
  const char* begin = digits.data() + (digits.starts_with('+') ? 1 : 0);
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(begin, end, number);
  return result.ec == std::errc{} && result.ptr == end;
}

// "1e6" is a whole number, too.
bool parse(const std::string& text, int64_t& number) {
  constexpr double kExact = 9007199254740992;  // above it a double leaves numbers out
  if (parse_number(text, number)) return true;
  double value = 0;
  if (!parse_number(text, value) || std::trunc(value) != value || std::abs(value) > kExact)
    return false;
  number = static_cast<int64_t>(value);
  return true;
}
bool parse(const std::string& text, double& number) {
  return parse_number(text, number) && std::isfinite(number);
}
bool parse(const std::string& text, bool& flag) {
  flag = same_word(text, "true");
  return flag || same_word(text, "false");
}

bool is_allowed(const ConfigField& field, double number) {
  const Bounds* bounds = std::get_if<Bounds>(&field.allowed);
  return bounds == nullptr || (number >= bounds->low && number <= bounds->high);
}
bool is_allowed(const ConfigField& field, const std::string& text) {
  const Choices* choices = std::get_if<Choices>(&field.allowed);
  return choices == nullptr || std::find(choices->begin(), choices->end(), text) != choices->end();
}

template <typename T>
bool assign(const ConfigField& field, const std::string& text, T& value) {
  T parsed{};
  if (!parse(text, parsed) || !is_allowed(field, static_cast<double>(parsed))) return false;
  value = parsed;
  return true;
}
bool assign(const ConfigField& field, const std::string& text, std::string& value) {
  if (!is_allowed(field, text)) return false;
  value = text;
  return true;
}
bool assign(const ConfigField& field, const std::string& text, uint8_t& value) {
  const Choices& names = std::get<Choices>(field.allowed);
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return false;
  value = static_cast<uint8_t>(found - names.begin());
  return true;
}

// In our words, where the field has a list of them.
std::string our_text(const ConfigField& field, const std::string& given, const std::string& place) {
  const Choices* choices = std::get_if<Choices>(&field.allowed);
  if (choices == nullptr) return given;
  try {
    return our_value(field.key, *choices, given);
  } catch (UserError& error) {
    throw UserError(error).at(place);
  }
}

std::string number_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string bounds_text(const Bounds& bounds) {
  if (bounds.high == kBelowOne.high) return fmt::format(" from {} to below 1", bounds.low);
  if (bounds.high == kAny) return fmt::format(" of at least {}", bounds.low);
  return fmt::format(" from {} to {}", bounds.low, bounds.high);
}

Choices optimizer_names() {
  Choices names;
  for (const OptimizerDef& optimizer : optimizers()) names.push_back(name(optimizer.op));
  return names;
}

// A key for each setting of any optimizer, with what it means to each.
struct SettingKey {
  std::string key, setting, doc;
  Bounds bounds;
};

const std::vector<SettingKey>& setting_keys() {
  static const std::vector<SettingKey> keys = [] {
    std::vector<SettingKey> found;
    for (const OptimizerDef& optimizer : optimizers())
      for (const OptimizerSetting& own : optimizer.settings) {
        auto known = std::ranges::find(found, own.name, &SettingKey::setting);
        if (known == found.end()) {
          found.push_back({.key = fmt::format("train.{}", own.name),
                           .setting = std::string(own.name),
                           .doc = {},
                           .bounds = own.below_one ? kBelowOne : kNotNegative});
          known = found.end() - 1;
        }
        const bool first = known->doc.empty();
        known->doc += fmt::format("{}{}: {}", first ? "" : "; ", name(optimizer.op), own.doc);
        if (!first) known->doc += fmt::format(" (default {})", own.fallback);
      }
    return found;
  }();
  return keys;
}

std::vector<ConfigField> optimizer_fields(TrainConfig& t) {
  std::vector<ConfigField> fields{
      {"train.optimizer", &t.optimizer, optimizer_names(), "how gradients change the weights"}};
  for (const SettingKey& row : setting_keys())
    fields.push_back({row.key, &t.optimizer_settings.at(row.setting), row.bounds, row.doc});
  return fields;
}

std::vector<ConfigField> train_fields(TrainConfig& t) {
  return {
      {"train.steps", &t.steps, kPositive, "optimizer updates"},
      {"train.batch", &t.batch, kPositive, "samples per step"},
      {"train.microbatches", &t.microbatches, kMicrobatches,
       "microbatches that a step's batch is split into"},
      {"train.seq", &t.seq, kPositive, "tokens per sample"},
      {"train.seed", &t.seed, kNotNegative,
       "seed of the initial weights and of stochastic rounding"},
      {"train.learning_rate", &t.learning_rate, kNotNegative, "the highest learning rate"},
      {"train.warmup_steps", &t.warmup_steps, kNotNegative, "steps of linear warm-up"},
      {"train.schedule", byte_of(t.schedule), choices(kRateSchedules),
       "how the learning rate decays after the warm-up; wsd: constant, then a linear decay"},
      {"train.decay_fraction", &t.decay_fraction, kFraction,
       "share of the steps after the warm-up in which wsd decays"},
      {"train.min_learning_rate", &t.min_learning_rate, kFraction,
       "the final learning rate, as a share of the highest"},
  };
}

std::vector<ConfigField> update_fields(TrainConfig& t) {
  return {
      {"train.weight_decay", &t.weight_decay, kNotNegative, "decoupled weight decay"},
      {"train.clip_norm", &t.clip_norm, kNotNegative, "largest gradient norm; 0: no clipping"},
      {"train.ema_decay", &t.ema_decay, kBelowOne,
       "decay of the moving average of the weights; 0: no average"},
      {"train.precision", &t.precision,
       Choices{"fp32", "bf16", "pure_bf16", "fp8", "pure_fp8", "fp64"},
       "dtype of weights and activations; bf16 keeps fp32 master weights; pure_bf16 has gradients "
       "and moments in bf16 too, with stochastic rounding of updates; fp8, pure_fp8: the same, "
       "with the layers' matmuls in 8 bits"},
      {"train.fp8_gradients", &t.fp8_gradients, Choices{"e5m2", "e4m3"},
       "8-bit format of gradients where matmuls are in fp8; values and weights are e4m3"},
      {"train.fp8_scaling", &t.fp8_scaling, Choices{"tensor", "block"},
       "what has a scale of its own in fp8: a tensor; or, of activations and gradients, 128 "
       "entries "
       "of a row, of weights blocks of 128 x 128"},
      {"train.fp8_fast_sums", &t.fp8_fast_sums, Choices{"forward", "none", "all"},
       "products in fp8 whose sums a GPU may keep in about 14 bits on the way, which is faster"},
  };
}

std::vector<ConfigField> train_loop_fields(TrainConfig& t) {
  return {
      {"train.eval_every", &t.eval_every, kNotNegative, "steps between held-out losses; 0: never"},
      {"train.eval_batches", &t.eval_batches, kPositive, "batches per held-out loss"},
      {"train.sample_every", &t.sample_every, Bounds{-1, kAny},
       "steps between samples of text; 0: never; -1: with each held-out loss where conversations "
       "are learned on the CPU, else never"},
      {"train.log_every", &t.log_every, kPositive,
       "steps between progress lines when the output is not a terminal"},
      {"train.threads", &t.threads, Bounds{0, 4096}, "compute threads; 0: one per core"},
      {"train.on_non_finite", byte_of(t.on_non_finite), choices(kOnNonFinite),
       "when a loss or gradient is not finite: stop; skip the step; or rewind to the newest "
       "checkpoint and skip the data up to here"},
      {"train.repeatable",
       &t.repeatable,
       {},
       "the same bits on every run; false: on a GPU, sums of attention's gradients are added in "
       "whatever order is fastest"},
  };
}

std::vector<ConfigField> checkpoint_fields(CheckpointConfig& c) {
  return {
      {"checkpoint.every", &c.every, kNotNegative, "steps between checkpoints; 0: never"},
      {"checkpoint.keep", &c.keep, kPositive, "number of newest checkpoints to keep"},
      {"checkpoint.keep_every", &c.keep_every, kNotNegative,
       "also keep the checkpoint of every N steps permanently; 0: none"},
  };
}

Choices schedule_names() {
  Choices names;
  for (const ScheduleKind& kind : schedule_kinds()) names.emplace_back(kind.name);
  names.emplace_back("custom");
  return names;
}

std::vector<ConfigField> plan_fields(PlanConfig& p) {
  return {
      {"plan.zero", &p.zero, Choices{"auto", "0", "1", "2", "3"},
       "what is sharded: 1 optimizer state, 2 gradients too, 3 parameters too; 0: nothing; "
       "auto: 3 if the mesh has fsdp, else 0"},
      {"plan.shard_axes",
       &p.shard_axes,
       {},
       "axes that states are sharded over, such as fsdp,cp; auto: fsdp, or else dp, "
       "and ep"},
      {"plan.experts",
       &p.experts,
       {},
       "axes that split the experts of a mixture, of ep, cp and tp, such as ep+tp"},
      {"plan.dispatch", byte_of(p.dispatch), choices(kDispatches),
       "how tokens come to experts of other ranks: all are gathered, or each is sent to its own; "
       "auto: what sends fewer bytes"},
      {"plan.expert_room",
       &p.expert_room,
       {},
       "rows of a rank's pool of experts, as a factor of the mean; a step that needs more is "
       "repeated with a larger pool; auto: 1.5 at first; worst: as many as could come"},
      {"plan.sequence_parallel",
       &p.sequence_parallel,
       {},
       "tensor-parallel ranks split the sequence where they split no other dim"},
      {"plan.tp_overlap", byte_of(p.tp_overlap), choices(kTpOverlaps),
       "ring: gathers before matmuls and scattered sums after them, as of sequence parallelism, "
       "travel in pieces while others are multiplied; auto: where a simulation says that it pays; "
       "a run takes it as off"},
      {"plan.context", byte_of(p.context), choices(kContexts),
       "how attention works on a sequence that is split over cp"},
      {"plan.reduce_dtype", &p.reduce_dtype, Choices{"auto", "fp32", "bf16", "fp64"},
       "dtype in which gradients and activations are summed over ranks; auto: their own"},
      {"plan.schedule", &p.schedule, schedule_names(),
       "the order in which pipeline ranks run microbatches forward and backward"},
      {"plan.actions",
       &p.actions,
       {},
       "with plan.schedule = custom: CSV file of actions per rank, in the format of PyTorch's "
       "pipelining"},
      {"plan.chunks", &p.chunks, kNotNegative,
       "stages per pipeline rank; 0: as few as the schedule allows"},
      {"plan.stages",
       &p.stages,
       {},
       "number of blocks in each stage, including embedding and head, such as 3,2,2,3; even: as "
       "many layers in each; empty: by cost"},
  };
}

// What a rank keeps, and where.
std::vector<ConfigField> plan_memory_fields(PlanConfig& p) {
  return {
      {"plan.recompute", &p.recompute,
       Choices{"none", "cheap", "attention", "block_keep_attention", "block", "every", "fit"},
       "what the backward recomputes instead of keeping it; cheap: norms and activations; "
       "block_keep_attention: blocks, but not attention; fit: just enough to fit plan.memory"},
      {"plan.recompute_every", &p.recompute_every, kNotNegative,
       "with plan.recompute = every: blocks recomputed together; 0: the square root of a stage's "
       "number of blocks"},
      {"plan.fp8_weights", &p.fp8_weights, Choices{"step", "use"},
       "when weights are quantised to fp8: once for a step, which keeps two bytes for each; or "
       "where they are read, as always where they are gathered for each use"},
      {"plan.offload",
       &p.offload,
       {},
       "what is kept in the host's memory: moments (the optimizer's states), states (masters "
       "too) or parameters (weights too); gradients; activations; such as states,activations"},
      {"plan.offload_update", &p.offload_update, Choices{"device", "host"},
       "where states that rest on the host are updated: they are streamed through the device, or "
       "the host's cores do it, to which gradients go and from which weights come"},
      {"plan.memory", &p.memory, {}, "memory of one rank, such as 8GB; empty: unknown"},
  };
}

std::vector<ConfigField> run_fields(RunConfig& r) {
  return {
      {"run.out", &r.out, {}, "folder for metrics, config and checkpoints"},
      {"run.device", byte_of(r.device), choices(kDeviceNames), "what the step runs on"},
      {"run.trace",
       &r.trace,
       {},
       "file for a trace of the first steps, for ui.perfetto.dev; empty: none"},
      {"run.trace_steps", &r.trace_steps, kPositive, "steps that the trace covers"},
      {"run.tensorboard",
       &r.tensorboard,
       {},
       "also write metrics as TensorBoard event files into run.out/tensorboard"},
      {"run.metrics_port", &r.metrics_port, Bounds{-1, 65535},
       "give metrics to Prometheus at http://127.0.0.1:PORT/metrics, to this machine alone; 0: a "
       "port that is free; -1: none"},
      {"run.deadline_seconds", &r.deadline_seconds, Bounds{0.1, 1e6},
       "with ranks as processes: a rank that keeps another one waiting for longer counts as hung"},
      {"run.peak_gflops", &r.peak_gflops, kNotNegative,
       "peak of the device for MFU; 0: measured with a matmul; on a CPU once for all runs"},
  };
}

}  // namespace

std::vector<ConfigField> config_fields(Config& c) {
  std::vector<ConfigField> all = data_fields(c.data);
  for (const std::vector<ConfigField>& more :
       {train_fields(c.train), optimizer_fields(c.train), update_fields(c.train),
        train_loop_fields(c.train), lora_fields(c.lora), checkpoint_fields(c.checkpoint),
        plan_fields(c.plan), plan_memory_fields(c.plan), elastic_fields(c.elastic),
        island_fields(c.islands), run_fields(c.run)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

void set_field(const ConfigField& field, const std::string& given, const std::string& place) {
  const std::string text = our_text(field, given, place);
  if (!std::visit([&](auto* value) { return assign(field, text, *value); }, field.value))
    throw user_error("{} is {}, but must be {}", field.key, given.empty() ? "empty" : given,
                     allowed_text(field))
        .at(place)
        .help(fmt::format("{}: {}", field.key, field.doc));
}

std::string field_text(const ConfigField& field) {
  if (auto* const* number = std::get_if<int64_t*>(&field.value)) return fmt::format("{}", **number);
  if (auto* const* number = std::get_if<double*>(&field.value)) return number_text(**number);
  if (auto* const* flag = std::get_if<bool*>(&field.value)) return **flag ? "true" : "false";
  if (auto* const* text = std::get_if<std::string*>(&field.value)) return **text;
  return std::string(std::get<Choices>(field.allowed)[*std::get<uint8_t*>(field.value)]);
}

std::string allowed_text(const ConfigField& field) {
  if (const Choices* choices = std::get_if<Choices>(&field.allowed)) {
    std::string text;
    for (size_t i = 0; i < choices->size(); ++i)
      text.append(i == 0 ? "" : i + 1 == choices->size() ? " or " : ", ").append((*choices)[i]);
    return text;
  }
  if (std::holds_alternative<bool*>(field.value)) return "true or false";
  if (std::holds_alternative<std::string*>(field.value)) return "text";
  const bool whole = std::holds_alternative<int64_t*>(field.value);
  const Bounds* bounds = std::get_if<Bounds>(&field.allowed);
  return (whole ? "a whole number" : "a number") + (bounds ? bounds_text(*bounds) : "");
}

}  // namespace tessera
