// SPDX-License-Identifier: Apache-2.0
#include "huggingface/huggingface_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "checkpoint/checkpoint_folder.h"
#include "core/error.h"
#include "core/narrow_floats.h"
#include "files/digest.h"
#include "huggingface/copy_patch.h"
#include "huggingface/model_json.h"
#include "models/model_field.h"
#include "models/presets.h"

namespace tessera {
namespace {

constexpr const char* kConfigFile = "config.json";

// Explains that a name on the hub is not a folder, and that a Tessera run is not a Hugging Face
// folder.
void require_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / kConfigFile, ignored)) return;
  const std::string name = folder.string();
  const bool of_hub = folder.is_relative() && std::count(name.begin(), name.end(), '/') == 1;
  if (!std::filesystem::is_directory(folder, ignored))
    throw user_error("there is no folder {}", name)
        .help(of_hub ? fmt::format("tessera downloads nothing: huggingface-cli download {0} "
                                   "--local-dir {0}, then give that folder",
                                   name)
                     : "give the folder that holds config.json and model.safetensors");
  throw user_error("{} is not a Hugging Face folder: it has no {}", folder.string(), kConfigFile)
      .help("give the folder that holds config.json and model.safetensors");
}

ModelConfig read_model(const std::filesystem::path& folder) {
  require_folder(folder);
  const MappedFile file(folder / kConfigFile);
  return parse_model_json({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                          file.path());
}

bool is_word(const ModelField& field) {
  return std::holds_alternative<Family ModelConfig::*>(field.kind) ||
         std::holds_alternative<Activation ModelConfig::*>(field.kind) ||
         std::holds_alternative<RouterScore ModelConfig::*>(field.kind) ||
         std::holds_alternative<BalanceScope ModelConfig::*>(field.kind) ||
         std::holds_alternative<RopeScaling ModelConfig::*>(field.kind);
}

// The config that a Tessera run of this model would have.
std::string config_toml(const ModelConfig& model, DType weights) {
  constexpr int64_t kLongestWindow = 1024;
  std::string toml = fmt::format("[model]\npreset = \"{}\"\n", preset_of(model));
  for (const ModelField& field : model_fields()) {
    const std::string text = model_field_text(model, field);
    toml += fmt::format("{} = {}\n", field.key, is_word(field) ? '"' + text + '"' : text);
  }
  toml += fmt::format("\n[train]\nprecision = \"{}\"\nbatch = 1\nseq = {}\n",
                      weights == DType::Bf16 ? "bf16" : "fp32",
                      std::min(model.context, kLongestWindow));
  return toml;
}

// Masks and frequencies that older versions of transformers saved with the weights.
bool is_constant(const std::string& name) {
  for (const char* ending : {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"})
    if (name.ends_with(ending)) return true;
  return false;
}

// Of a layer after the model's last one: DeepSeek-V3's folders have one that predicts a further
// token, which is not built here, as it is not in transformers.
bool predicts_further(const ModelConfig& model, const std::string& name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!model.has_latent_attention() || !name.starts_with(kLayers)) return false;
  return std::atoll(name.c_str() + kLayers.size()) >= model.layers;
}

}  // namespace

bool is_huggingface_folder(const std::filesystem::path& path) {
  return std::filesystem::exists(path / kConfigFile) &&
         !std::filesystem::exists(path / kManifestName) &&
         !std::filesystem::exists(checkpoints_of(path));
}

HuggingFaceFolder::HuggingFaceFolder(std::filesystem::path where)
    : StateSource(std::move(where)), model_(read_model(path())), files_(path()) {
  const bool merged = find(merged_experts_name(model_)) != nullptr;
  TensorMap map = tensor_map(model_, merged ? ExpertLayout::Merged : ExpertLayout::PerExpert);
  check_tensors(map);
  check_nothing_else(map);
  for (const Patch& patch : map.patches) {
    const DType dtype = find(patch.theirs)->dtype;
    half_ = half_ || find(patch.theirs)->half;
    const auto known = tensors().find(patch.ours);
    if (known != tensors().end() && known->second.dtype != dtype)
      throw user_error("{}: {} is {}, but related tensors are {}", path().string(), patch.theirs,
                       name(dtype), name(known->second.dtype))
          .help("save the model in one dtype");
    add_tensor(patch.ours, {dtype, map.ours.at(patch.ours)});
    patches_[patch.ours].push_back(patch);
  }
  facts_ = {.position = {},
            .seed = 0,
            .mesh = "1",
            .config_toml = config_toml(model_, tensors().at("embedding.table").dtype)};
}

const SafetensorsTensor* HuggingFaceFolder::find(const std::string& theirs) const {
  if (const SafetensorsTensor* tensor = files_.find(theirs)) return tensor;
  const std::string prefix = tensor_prefix(model_);
  return theirs.starts_with(prefix) ? files_.find(theirs.substr(prefix.size())) : nullptr;
}

std::string HuggingFaceFolder::digest() const {
  Digest digest;
  for (const auto& [name, tensor] : files_.tensors()) {
    const std::string text = fmt::format("{} {} [{}]", name, tessera::name(tensor->dtype),
                                         fmt::join(tensor->shape, ","));
    digest.add(std::as_bytes(std::span(text)));
    digest.add(tensor->bytes);
  }
  return digest.text();
}

// In the dtype of our tensor. Valid until the next call.
std::span<const std::byte> HuggingFaceFolder::bytes_of(const std::string& theirs) const {
  const SafetensorsTensor* tensor = find(theirs);
  if (!tensor->half) return tensor->bytes;
  if (widened_name_ == theirs) return widened_;
  widened_.resize(2 * tensor->bytes.size());
  widen_halves(tensor->bytes, widened_);
  widened_name_ = theirs;
  return widened_;
}

void HuggingFaceFolder::check_tensors(const TensorMap& map) const {
  for (const auto& [name, shape] : map.theirs) {
    const SafetensorsTensor* tensor = find(name);
    if (!tensor)
      throw user_error("{} has no tensor {}, which its config.json requires", path().string(), name)
          .help("config.json and weights do not belong together: copy them again");
    if (tensor->shape != shape)
      throw user_error("{}: {} has shape [{}], but its config.json requires [{}]", path().string(),
                       name, fmt::join(tensor->shape, ", "), fmt::join(shape, ", "))
          .help("config.json and weights do not belong together: copy them again");
    if (!is_float(tensor->dtype))
      throw user_error("{}: {} is {}, which is not a dtype of weights", path().string(), name,
                       tessera::name(tensor->dtype));
  }
}

void HuggingFaceFolder::check_nothing_else(const TensorMap& map) {
  const std::string prefix = tensor_prefix(model_);
  for (const auto& [name, tensor] : files_.tensors()) {
    const bool known = map.theirs.contains(name) || map.theirs.contains(prefix + name);
    const bool copy_of_tied = model_.tied && name == "lm_head.weight";
    if (predicts_further(model_, name)) {
      ++left_out_;
      continue;
    }
    if (!known && !copy_of_tied && !is_constant(name))
      throw user_error("{} holds {}, which its config.json does not need", path().string(), name)
          .help(
              "config.json and weights do not belong together, or this kind of model is not "
              "supported");
  }
}

void HuggingFaceFolder::for_each_overlap(const std::string& name,
                                         const std::vector<Stretch>& wanted,
                                         const Overlap& f) const {
  const Tensor& tensor = tensors().at(name);
  const int64_t element_bytes = size_bytes(tensor.dtype);
  if (prepared_name_ != name) {
    prepared_name_.clear();
    prepared_.resize(static_cast<size_t>(tensor.elements() * element_bytes));
    for (const Patch& patch : patches_.at(name))
      copy_to_ours(patch, element_bytes, bytes_of(patch.theirs), prepared_);
    prepared_name_ = name;
  }
  pass_parts(prepared_, tensor.dtype, wanted, f);
}

}  // namespace tessera
