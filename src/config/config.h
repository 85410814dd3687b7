// SPDX-License-Identifier: Apache-2.0
// What a run is asked to do: a TOML file, then `key=value` overrides, into plain structs. Every key
// but [model]'s is declared once, in config_fields.cpp; the defaults here are those of the demo.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/optimizer.h"
#include "mesh/mesh.h"

namespace tessera {

// Keys of [model] without the section, in the order given; what they mean is decided and checked by
// src/models.
using ModelSettings = std::vector<std::pair<std::string, std::string>>;

struct DataConfig {
  std::string source = "auto";
  std::string path;
  std::vector<std::pair<std::string, double>> mixture;  // weights by path, in the order given
  double held_out = 0.01;
  int64_t seed = 1;
  int64_t story_bytes = 64 << 20;
  bool document_mask = false;
  std::string packing = "in_order";
  int64_t document_end = -1;
  std::string tokenizer;  // file; empty: the one beside the shards, if any
};

struct TrainConfig {
  int64_t steps = 1000;
  int64_t batch = 16;
  int64_t microbatches = 1;
  int64_t seq = 128;
  int64_t seed = 1;
  double learning_rate = 2e-3;
  int64_t warmup_steps = 50;
  std::string schedule = "cosine";
  double decay_fraction = 0.2;
  double min_learning_rate = 0.1;
  std::string optimizer = "adamw";
  // Of all optimizers: train.beta1 and others, declared in their table.
  OptimizerSettings optimizer_settings = default_settings(optimizers().front());
  double weight_decay = 0.1;
  double clip_norm = 1.0;
  double ema_decay = 0;
  std::string precision = "fp32";
  int64_t eval_every = 100;
  int64_t eval_batches = 8;
  int64_t sample_every = 0;
  int64_t log_every = 10;
  int64_t threads = 0;
  std::string on_non_finite = "stop";
};

struct CheckpointConfig {
  int64_t every = 0;
  int64_t keep = 2;
  int64_t keep_every = 0;
};

// How the step is spread over ranks; the mesh itself is Config::mesh.
struct PlanConfig {
  std::string zero = "auto";
  std::string shard_axes = "auto";
  bool sequence_parallel = false;
  std::string context = "ring";
  std::string reduce_dtype = "auto";
  std::string schedule = "1f1b";
  std::string actions;  // file of a custom schedule
  int64_t chunks = 0;
  std::string stages;
  std::string recompute = "none";
  int64_t recompute_every = 1;
  std::string memory;  // of a rank; empty: not said
};

struct RunConfig {
  std::string out = "out";
  std::string device = "cpu";
  double peak_gflops = 0;
  std::string trace;  // file; empty: none
  int64_t trace_steps = 3;
  bool tensorboard = true;
  double deadline_seconds = 120;  // of every wait for another rank
};

struct Config {
  ModelSettings model;
  DataConfig data;
  TrainConfig train;
  CheckpointConfig checkpoint;
  std::vector<Axis> mesh;  // in the order given; empty: one rank
  PlanConfig plan;
  // Own lists of dims by axis: plan.dims.tp = "kv_heads,mlp".
  std::vector<std::pair<std::string, std::vector<std::string>>> plan_dims;
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

// What reads a path: "tokens" or "text".
std::string source_of_path(std::string_view path);

// The last value given for a key of [model]; null when none was.
const std::string* find_model_setting(const Config& config, std::string_view key);
// The name of the preset: model.preset, or "tiny".
std::string preset_name(const Config& config);

// One row per key, for help and docs.
struct ConfigKey {
  std::string key, default_value, allowed, doc;
};
std::vector<ConfigKey> config_keys();
// Those of [data.mixture], [mesh] and [plan.dims], which have no field.
std::vector<ConfigKey> table_keys();

}  // namespace tessera
