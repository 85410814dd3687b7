// SPDX-License-Identifier: Apache-2.0
#include "inference/stored_model.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "data/token_text.h"
#include "huggingface/huggingface_folder.h"
#include "huggingface/tokenizer_files.h"
#include "models/model_field.h"

namespace tessera {

std::unique_ptr<StateSource> open_stored_model(const std::string& from) {
  if (is_huggingface_folder(from)) return std::make_unique<HuggingFaceFolder>(from);
  return std::make_unique<Checkpoint>(find_checkpoint(from));
}

Config config_of(const StateSource& stored) {
  return parse_config(stored.facts().config_toml, "the checkpoint's config", {});
}

std::filesystem::path tokenizer_of(const StateSource& stored, const std::string& given) {
  if (!given.empty()) return given;
  const auto beside = tokenizer_folder(stored.path()) / "tokenizer.json";
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside : tokenizer_of_config(config_of(stored));
}

std::vector<std::string> model_settings(const ModelConfig& model) {
  std::vector<std::string> settings;
  for (const ModelField& field : model_fields())
    settings.push_back(fmt::format("model.{}={}", field.key, model_field_text(model, field)));
  return settings;
}

Checkpoint find_checkpoint(const std::string& from) {
  const std::filesystem::path path = from;
  if (!std::filesystem::is_directory(path) || std::filesystem::exists(path / kManifestName)) {
    Checkpoint checkpoint(path);
    checkpoint.verify();
    return checkpoint;
  }
  const std::optional<RunIdentity> run = read_run_identity(path);
  NewestValid newest = newest_valid(checkpoints_of(path), run ? &*run : nullptr);
  for (const std::string& skipped : newest.skipped)
    fmt::print(stderr, "warning: skipping a checkpoint: {}\n", skipped);
  if (!newest.checkpoint)
    throw user_error("there is no {}checkpoint in {}", newest.skipped.empty() ? "" : "valid ",
                     checkpoints_of(path).string())
        .help(std::filesystem::is_directory(path / "island-0")
                  ? fmt::format("each island has its own: {}", (path / "island-0").string())
                  : "train with --save-every N to get one");
  return std::move(*newest.checkpoint);
}

}  // namespace tessera
