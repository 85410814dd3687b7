// SPDX-License-Identifier: Apache-2.0
#include "huggingface/peft_folder.h"

#include <fmt/ranges.h>

#include <set>

#include "config/lora_fields.h"
#include "config/run_spec.h"
#include "core/convert_elements.h"
#include "core/error.h"
#include "core/narrow_floats.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/mapped_file.h"
#include "huggingface/adapter_json.h"
#include "huggingface/copy_patch.h"
#include "huggingface/model_json.h"

namespace tessera {
namespace {

constexpr const char *kAdapterConfig = "adapter_config.json",
                     *kAdapterModel = "adapter_model.safetensors";
constexpr SafetensorsReaderOptions kTakesHalf{.takes_half = true};

LoraSettings read_adapter_config(const std::filesystem::path& folder) {
  const MappedFile file(folder / kAdapterConfig);
  return parse_adapter_json(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
      file.path().string());
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
  std::string named = read_adapter_config(folder).base;
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
  LoraSettings& lora = of_base.lora;
  lora = read_adapter_config(path());
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
  LoraSettings lora = config.lora;
  if (!options.base_name.empty()) lora.base = options.base_name;
  write_file_atomically(folder / kAdapterConfig, adapter_json(lora, map.modules));
  return summary;
}

}  // namespace tessera
