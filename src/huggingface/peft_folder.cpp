// SPDX-License-Identifier: Apache-2.0
#include "huggingface/peft_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "config/lora_fields.h"
#include "config/run_spec.h"
#include "core/convert_elements.h"
#include "core/error.h"
#include "core/narrow_floats.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/mapped_file.h"
#include "huggingface/copy_patch.h"
#include "huggingface/json_fields.h"
#include "huggingface/model_json.h"

namespace tessera {
namespace {

constexpr const char *kAdapterConfig = "adapter_config.json",
                     *kAdapterModel = "adapter_model.safetensors";
constexpr int kAdapterConfigDepth = 8;
constexpr SafetensorsReaderOptions kTakesHalf{.takes_half = true};

Json read_adapter_config(const std::filesystem::path& folder) {
  const MappedFile file(folder / kAdapterConfig);
  Json json;
  const std::string wrong =
      parse_json({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                 kAdapterConfigDepth, json);
  if (!wrong.empty()) throw user_error("{} {}", file.path().string(), wrong).help("copy it again");
  return json;
}

// What changes the maths and is not known here is refused, never ignored.
void require_known_lora(const Fields& fields) {
  fields.only("peft_type", "LORA");
  for (const char* key : {"use_dora", "lora_bias", "use_qalora"}) fields.only(key, false);
  fields.only("bias", "none");
  for (const char* key : {"rank_pattern", "alpha_pattern"})
    if (!fields.object(key).empty())
      fields.refuse("give all adapters one rank and one alpha", "it has a {}", key);
  for (const char* key :
       {"modules_to_save", "layers_to_transform", "layer_replication", "trainable_token_indices",
        "alora_invocation_tokens", "target_parameters"})
    if (const Json* value = fields.find(key); value && !value->items().empty())
      fields.refuse("such adapters cannot be read", "{} is {}", key, value->dump());
}

// Of other first values the weights beside the adapters are not those of the base: what they begin
// with was taken off.
void require_base_as_it_was(const Fields& fields) {
  constexpr std::array<std::string_view, 3> kLeaveTheBase{"gaussian", "eva", "orthogonal"};
  const Json* first = fields.find("init_lora_weights");
  if (!first || !first->text() ||
      std::ranges::find(kLeaveTheBase, *first->text()) != kLeaveTheBase.end())
    return;
  fields.refuse(
      "save them as plain LoRA first: save_pretrained with "
      "path_initial_model_for_weight_conversion",
      "init_lora_weights is {}, which changes the weights of the base", first->dump());
}

// Modules that have adapters, as ours: "wq,wv". Every layer must have the same.
std::string targets_of(const SafetensorsReader& file) {
  std::set<std::string> names;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const std::string module = module_of_peft(tensor.name);
    const std::string adapter = module.empty() ? "" : adapter_of_module(module);
    if (adapter.empty())
      throw user_error(
          "{} holds {}, which is no adapter of q_proj, k_proj, v_proj, o_proj, "
          "gate_proj, up_proj or down_proj",
          file.path().string(), tensor.name)
          .help("adapters of models like Llama 3 and Qwen 3 can be read");
    names.insert(adapter);
  }
  if (names.empty()) throw user_error("{} holds no adapters", file.path().string());
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

bool is_peft_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path / kAdapterConfig, ignored);
}

std::string base_of_peft_folder(const std::filesystem::path& folder) {
  const Json json = read_adapter_config(folder);
  std::string named =
      Fields(json, (folder / kAdapterConfig).string()).text("base_model_name_or_path", "");
  std::error_code ignored;
  if (!named.empty() && std::filesystem::exists(named, ignored)) return named;
  if (!named.empty() && std::filesystem::exists(folder / named, ignored))
    return (folder / named).lexically_normal().string();
  throw user_error("{} is of the model {}, which is no folder here", folder.string(),
                   named.empty() ? "that it does not name" : named)
      .help("name the folder of that model with --base, or in training with lora.base");
}

PeftFolder::PeftFolder(std::filesystem::path where, Config of_base, const std::string& base)
    : StateSource(std::move(where)), file_(path() / kAdapterModel, kTakesHalf) {
  const Json json = read_adapter_config(path());
  const Fields fields(json, (path() / kAdapterConfig).string());
  require_known_lora(fields);
  require_base_as_it_was(fields);
  LoraSettings& lora = of_base.lora;
  lora.rank = fields.whole("r");
  lora.alpha = fields.real("lora_alpha", 8);
  if (fields.flag("use_rslora", false)) lora.alpha *= std::sqrt(static_cast<double>(lora.rank));
  lora.targets = targets_of(file_);
  lora.base = std::filesystem::absolute(base).lexically_normal().string();
  const PeftMap map = peft_map(resolve_model(of_base), resolve_lora(lora));
  check_tensors(map);
  for (const Patch& patch : map.patches) {
    add_tensor(patch.ours, {file_.get(patch.theirs).dtype, map.ours.at(patch.ours)});
    patches_[patch.ours] = patch;
  }
  facts_ = {.position = {}, .seed = 0, .mesh = "1", .config_toml = to_toml(of_base)};
}

void PeftFolder::check_tensors(const PeftMap& map) const {
  for (const auto& [name, shape] : map.theirs) {
    const SafetensorsTensor* tensor = file_.find(name);
    if (!tensor)
      throw user_error("{} has no {}, which other layers have", file_.path().string(), name)
          .help("every layer must have the same adapters");
    if (tensor->shape != shape)
      throw user_error("{}: {} has shape [{}], but the model and r require [{}]",
                       file_.path().string(), name, fmt::join(tensor->shape, ", "),
                       fmt::join(shape, ", "))
          .help("give the model that the adapters are of");
    if (!is_float(tensor->dtype))
      throw user_error("{}: {} is {}, which is not a dtype of weights", file_.path().string(), name,
                       tessera::name(tensor->dtype));
  }
  for (const SafetensorsTensor& tensor : file_.tensors())
    if (!map.theirs.contains(tensor.name))
      throw user_error("{} holds {}, which the model does not have", file_.path().string(),
                       tensor.name)
          .help("give the model that the adapters are of");
}

std::vector<std::byte> PeftFolder::in_our_layout(const std::string& name) const {
  const Patch& patch = patches_.at(name);
  const SafetensorsTensor& tensor = file_.get(patch.theirs);
  std::vector<std::byte> widened;
  std::span<const std::byte> theirs = tensor.bytes;
  if (tensor.half) {
    widened.resize(2 * theirs.size());
    widen_halves(theirs, widened);
    theirs = widened;
  }
  std::vector<std::byte> ours(theirs.size());
  copy_to_ours(patch, size_bytes(tensor.dtype), theirs, ours);
  return ours;
}

void PeftFolder::for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                                  const Overlap& f) const {
  pass_parts(in_our_layout(name), tensors().at(name).dtype, wanted, f);
}

namespace {

// Keys and values as PEFT writes them.
std::string adapter_config(const Config& config, const PeftMap& map, const std::string& base) {
  Json json{{"alpha_pattern", Json::object()},
            {"auto_mapping", nullptr},
            {"base_model_name_or_path", base.empty() ? Json() : Json(base)},
            {"bias", "none"},
            {"fan_in_fan_out", false},
            {"inference_mode", true},
            {"init_lora_weights", true},
            {"layers_pattern", nullptr},
            {"layers_to_transform", nullptr},
            {"lora_alpha", config.lora.alpha},
            {"lora_dropout", 0.0},
            {"modules_to_save", nullptr},
            {"peft_type", "LORA"},
            {"r", config.lora.rank},
            {"rank_pattern", Json::object()},
            {"revision", nullptr},
            {"target_modules", map.modules},
            {"task_type", "CAUSAL_LM"},
            {"use_dora", false},
            {"use_rslora", false}};
  if (const double alpha = config.lora.alpha; alpha == std::trunc(alpha) && std::abs(alpha) < 1e15)
    json["lora_alpha"] = static_cast<int64_t>(alpha);
  return json.dump(2) + "\n";
}

}  // namespace

PeftSummary export_peft_folder(const StateSource& from, const std::filesystem::path& folder,
                               const PeftExport& options) {
  const Config config = parse_config(from.facts().config_toml, "the checkpoint's config", {});
  const ModelConfig model = resolve_model(config);
  check_exportable(model);
  const PeftMap map = peft_map(model, model.lora);
  std::vector<SafetensorsEntry> entries;
  const auto origin = [&](const Patch& patch) {
    return from.origin_of(patch.ours, options.averaged);
  };
  for (const Patch& patch : map.patches) {
    const auto stored = from.tensors().find(origin(patch));
    if (stored == from.tensors().end())
      throw user_error("{} has no {}", from.path().string(), patch.ours)
          .help("was it written by another model?");
    entries.push_back(
        {patch.theirs, options.dtype.value_or(stored->second.dtype), map.theirs.at(patch.theirs)});
  }
  make_folder(folder);
  PeftSummary summary{.tensors = std::ssize(entries)};
  SafetensorsWriter writer(folder / kAdapterModel, entries, {{"format", "pt"}});
  std::vector<std::byte> converted, theirs;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string name = origin(map.patches[i]);
    converted.resize(static_cast<size_t>(size_bytes(entries[i])));
    theirs.resize(converted.size());
    convert_elements(from.tensors().at(name).dtype, from.read_whole(name), entries[i].dtype,
                     converted);
    copy_to_theirs(map.patches[i], size_bytes(entries[i].dtype), converted, theirs);
    writer.write(entries[i].name, theirs);
    summary.bytes += size_bytes(entries[i]);
  }
  writer.commit();
  write_file_atomically(
      folder / kAdapterConfig,
      adapter_config(config, map,
                     options.base_name.empty() ? config.lora.base : options.base_name));
  return summary;
}

}  // namespace tessera
