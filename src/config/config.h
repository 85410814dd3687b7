// SPDX-License-Identifier: Apache-2.0
// What a run is asked to do: a TOML file, then `key=value` overrides, into plain structs. Every key
// but [model]'s is declared once, in config_fields.cpp; the defaults here are those of the demo.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/device_kind.h"
#include "ir/optimizer.h"
#include "islands/island_options.h"
#include "mesh/plan.h"

namespace tessera {

struct OwnModel;

// Keys of [model] without the section, in the order given; what they mean is decided and checked by
// src/models.
using ModelSettings = std::vector<std::pair<std::string, std::string>>;

// Choices, each with its names in the order of the enum.
enum class DataSource : uint8_t { Auto, Stories, Text, Chat, Tokens, Mixture, Regression };
inline constexpr std::array<std::string_view, 7> kDataSources{
    "auto", "stories", "text", "chat", "tokens", "mixture", "regression"};
enum class Packing : uint8_t { InOrder, BestFit };
inline constexpr std::array<std::string_view, 2> kPackings{"in_order", "best_fit"};
// Which windows of the data are shuffled together: all; or those of a block of a few million
// tokens, of documents that are shuffled before, or of the data as it is.
enum class DataShuffle : uint8_t { Auto, Windows, Documents, Blocks, None };
inline constexpr std::array<std::string_view, 5> kDataShuffles{"auto", "windows", "documents",
                                                               "blocks", "none"};
// What is held out: the last tokens, or documents.
enum class DataSplit : uint8_t { Auto, Tokens, Documents };
inline constexpr std::array<std::string_view, 3> kDataSplits{"auto", "tokens", "documents"};
enum class RateSchedule : uint8_t { Cosine, Linear, Wsd, Constant };
inline constexpr std::array<std::string_view, 4> kRateSchedules{"cosine", "linear", "wsd",
                                                                "constant"};
enum class OnNonFinite : uint8_t { Stop, Skip, Rewind };
inline constexpr std::array<std::string_view, 3> kOnNonFinite{"stop", "skip", "rewind"};
inline constexpr std::array<std::string_view, 2> kContexts{"ring", "ulysses"};  // ContextKind
inline constexpr std::array<std::string_view, 3> kDispatches{"gather", "exchange",
                                                             "auto"};  // DispatchKind
inline constexpr std::array<std::string_view, 3> kTpOverlaps{"off", "ring", "auto"};  // TpOverlap

constexpr std::string_view name(DataSource source) {
  return kDataSources[static_cast<size_t>(source)];
}
constexpr std::string_view name(DataShuffle shuffle) {
  return kDataShuffles[static_cast<size_t>(shuffle)];
}
constexpr std::string_view name(DispatchKind dispatch) {
  return kDispatches[static_cast<size_t>(dispatch)];
}
constexpr std::string_view name(TpOverlap overlap) {
  return kTpOverlaps[static_cast<size_t>(overlap)];
}
constexpr std::string_view name(ContextKind context) {
  return kContexts[static_cast<size_t>(context)];
}

struct DataConfig {
  DataSource source = DataSource::Auto;
  std::string path;
  std::vector<std::pair<std::string, double>> mixture;  // weights by path, in the order given
  double held_out = 0.01;
  std::string held_out_path;  // of the data that held-out samples come from; empty: data.path
  DataShuffle shuffle = DataShuffle::Auto;
  DataSplit split = DataSplit::Auto;
  bool deduplicate = false;
  int64_t seed = 1;
  int64_t story_bytes = 64 << 20;
  bool document_mask = false;
  Packing packing = Packing::InOrder;
  int64_t document_end = -1;
  std::string field = "text";  // of a line of a .jsonl file
  std::string chat_template;   // file, "plain" or "marked"; empty: the one beside the tokenizer
  std::string chat_roles = "assistant";  // whose turns are learned, with commas
  std::string tokenizer;                 // file; empty: the one beside the shards, if any
  std::string end;  // text of the token that ends documents; empty: the tokenizer's own
  std::string cache = "token_cache";  // folder of tokens made from text
  int64_t ahead = 16 << 20;           // tokens that are made ahead of the step
  int64_t threads = 1;                // that make them
};

struct TrainConfig {
  int64_t steps = 1000;
  int64_t batch = 16;
  int64_t microbatches = 1;
  int64_t seq = 128;
  int64_t seed = 1;
  double learning_rate = 2e-3;
  int64_t warmup_steps = 50;
  RateSchedule schedule = RateSchedule::Cosine;
  double decay_fraction = 0.2;
  double min_learning_rate = 0.1;
  std::string optimizer = "adamw";
  // Of all optimizers: train.beta1 and others, declared in their table.
  OptimizerSettings optimizer_settings = default_settings(optimizers().front());
  double weight_decay = 0.1;
  std::vector<ParameterGroup> groups;  // in the order given
  double clip_norm = 1.0;
  double ema_decay = 0;
  std::string precision = "fp32";
  std::string fp8_gradients = "e5m2";
  std::string fp8_scaling = "tensor";
  std::string fp8_fast_sums = "forward";
  int64_t eval_every = 100;
  int64_t eval_batches = 8;
  int64_t sample_every = -1;
  int64_t log_every = 10;
  int64_t threads = 0;
  OnNonFinite on_non_finite = OnNonFinite::Stop;
  bool repeatable = true;
};

struct CheckpointConfig {
  int64_t every = 0;
  int64_t keep = 2;
  int64_t keep_every = 0;
};

// What a supervised run does when ranks are lost and return.
struct ElasticConfig {
  int64_t least_ranks = 0;  // 0: always those of the mesh
  int64_t most_ranks = 0;   // 0: those of the mesh
  std::string ranks_from;   // a file; empty: what the launcher knows
  std::string probe;        // a command; empty: every host is there
  double shrink_after_seconds = 10;
  double grow_after_seconds = 60;
  std::string cluster;  // to plan with; empty: this machine
};

// Of the axis island.
struct IslandsConfig {
  int64_t every = 100;
  OuterOptimizer outer_optimizer = OuterOptimizer::Nesterov;
  double outer_learning_rate = 0.7;
  double outer_momentum = 0.9;
  IslandWire wire = IslandWire::Exact;
  int64_t fragments = 1;
  int64_t delay = 0;
  std::string hub;  // empty: all islands are threads of this process
  std::string keys;
  int64_t index = 0;
  double patience_seconds = 60;
};

// Adapters beside frozen weights.
struct LoraSettings {
  int64_t rank = 0;
  double alpha = 16;
  std::string targets = "all";
  std::string base;  // empty: the weights that are frozen begin at random
};

struct RunConfig {
  std::string out = "out";
  DeviceKind device = DeviceKind::Cpu;
  double peak_gflops = 0;
  std::string trace;  // file; empty: none
  int64_t trace_steps = 3;
  bool tensorboard = true;
  int64_t metrics_port = -1;      // 0: any that is free; -1: none
  double deadline_seconds = 120;  // of every wait for another rank
};

struct Config {
  ModelSettings model;
  std::shared_ptr<const OwnModel> own_model;  // null: the model is of a family
  DataConfig data;
  TrainConfig train;
  CheckpointConfig checkpoint;
  std::vector<Axis> mesh;  // in the order given; empty: one rank
  PlanConfig plan;
  IslandsConfig islands;
  // Own lists of dims by axis: plan.dims.tp = "kv_heads,mlp".
  std::vector<std::pair<std::string, std::vector<std::string>>> plan_dims;
  ElasticConfig elastic;
  LoraSettings lora;
  RunConfig run;
};

// Defaults of the model's preset, then the settings of `base`, then the file, then the overrides
// (both "train.steps=10"), then checked as a whole.
Config load_config(const std::optional<std::filesystem::path>& file,
                   std::span<const std::string> overrides, std::span<const std::string> base = {});
// The same from text; `origin` names it in errors.
Config parse_config(std::string_view toml, const std::string& origin,
                    std::span<const std::string> overrides, std::span<const std::string> base = {});

// Every key with its value, so that reading it back gives the same config whatever the defaults
// become.
std::string to_toml(const Config& config);

// What reads a path: tokens or text.
DataSource source_of_path(std::string_view path);

// The last value given for a key of [model]; null when none was.
const std::string* find_model_setting(const Config& config, std::string_view key);
// The name of the preset: model.preset, or "tiny".
std::string preset_name(const Config& config);
// That, or the name of a program's own model.
std::string model_name(const Config& config);

// One row per key, for help and docs.
struct ConfigKey {
  std::string key, default_value, allowed, doc;
};
std::vector<ConfigKey> config_keys();
// Those of [data.mixture], [train.group], [mesh] and [plan.dims], which have no field.
std::vector<ConfigKey> table_keys();

// What a config asks for without effect: no mistake, but hardly what was meant.
std::vector<std::string> notes_on(const Config& config);

}  // namespace tessera
