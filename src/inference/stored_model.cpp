// SPDX-License-Identifier: Apache-2.0
#include "inference/stored_model.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/joined_source.h"
#include "config/lora_fields.h"
#include "data/token_text.h"
#include "huggingface/huggingface_folder.h"
#include "huggingface/peft_folder.h"
#include "huggingface/tokenizer_files.h"
#include "models/model_field.h"

namespace tessera {

std::unique_ptr<StateSource> open_base(const std::string& path, const std::string& adapters) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw user_error("{} holds adapters of {}, which is not there", adapters, path)
        .at("lora.base")
        .help("name the folder of that model with --base, or in training with lora.base");
  std::unique_ptr<StateSource> base = open_stored_model(path);
  if (config_of(*base).lora.rank > 0)
    throw user_error("{} is to be the base of {}, but has adapters itself", path, adapters)
        .help("merge them first: tessera export " + path + " --merge --out FOLDER");
  return base;
}

namespace {

std::unique_ptr<StateSource> peft_with_base(const std::string& from, const std::string& given) {
  const std::string path = given.empty() ? base_of_peft_folder(from) : given;
  std::unique_ptr<StateSource> base = open_base(path, from);
  const Config of_base = config_of(*base);
  auto adapters = std::make_unique<PeftFolder>(from, of_base, path);
  return std::make_unique<JoinedSource>(std::move(adapters), std::move(base));
}

}  // namespace

std::unique_ptr<StateSource> with_base(const std::filesystem::path& checkpoint,
                                       const std::string& given) {
  auto own = std::make_unique<Checkpoint>(checkpoint);
  const std::string digest = own->facts().base;
  if (digest.empty()) return own;
  const std::string path = given.empty() ? config_of(*own).lora.base : given;
  std::unique_ptr<StateSource> base = open_base(path, own->path().string());
  if (const std::string found = base->digest(); found != digest)
    throw user_error(
        "{} was saved beside other weights than those of {}: their digest was {}, not {}",
        own->path().string(), path, digest, found)
        .help("give the model that the adapters were trained beside");
  return std::make_unique<JoinedSource>(std::move(own), std::move(base));
}

std::unique_ptr<StateSource> open_stored_model(const std::string& from, const std::string& base) {
  if (is_peft_folder(from)) return peft_with_base(from, base);
  if (is_huggingface_folder(from)) return std::make_unique<HuggingFaceFolder>(from);
  return with_base(find_checkpoint(from).path(), base);
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

std::vector<std::string> model_settings(const ModelConfig& model, LoraSettings lora) {
  std::vector<std::string> settings;
  for (const ModelField& field : model_fields())
    settings.push_back(fmt::format("model.{}={}", field.key, model_field_text(model, field)));
  if (lora.rank == 0) return settings;
  for (const ConfigField& field : lora_fields(lora))
    settings.push_back(fmt::format("{}={}", field.key, field_text(field)));
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
