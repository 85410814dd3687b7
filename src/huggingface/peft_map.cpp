// SPDX-License-Identifier: Apache-2.0
#include "huggingface/peft_map.h"

#include <algorithm>
#include <array>

#include "checkpoint/tensor_piece.h"
#include "core/error.h"
#include "models/build_model.h"
#include "models/lora.h"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "base_model.model.", kA = ".lora_A.weight",
                           kB = ".lora_B.weight", kWeight = ".weight";

struct PeftName {
  std::string_view module, adapter;
};
constexpr std::array kPeftNames{PeftName{"q_proj", "wq"},      PeftName{"k_proj", "wk"},
                                PeftName{"v_proj", "wv"},      PeftName{"o_proj", "wo"},
                                PeftName{"gate_proj", "gate"}, PeftName{"up_proj", "up"},
                                PeftName{"down_proj", "down"}};

int64_t elements_of_all(const Dims& dims) {
  int64_t elements = 1;
  for (const Dim& dim : dims) elements *= dim.size;
  return elements;
}

std::string last_word(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// The module whose weight is that of the adapter, turned, and nothing else.
std::string module_of(const TensorMap& map, const BlockAdapter& adapter) {
  std::vector<const Patch*> patches;
  for (const Patch& patch : map.patches)
    if (patch.ours == adapter.weight) patches.push_back(&patch);
  const auto part = static_cast<size_t>(std::max(adapter.adapter.index, 0));
  const Patch* patch = part < patches.size() ? patches[part] : nullptr;
  const bool one_each = adapter.adapter.index >= 0 || patches.size() == 1;
  const int64_t inputs = elements_of_all(adapter.adapter.inputs),
                outputs = elements_of_all(adapter.adapter.outputs);
  const bool is_whole = patch && one_each && patch->rows == inputs && patch->columns == outputs &&
                        patch->their_row == 1 && patch->their_column == inputs &&
                        patch->theirs.ends_with(kWeight);
  if (!is_whole)
    throw user_error("the adapter of {} has no module of its own in transformers", adapter.weight)
        .help("PEFT folders are of models like Llama 3 and Qwen 3; --merge works for all");
  return patch->theirs.substr(0, patch->theirs.size() - kWeight.size());
}

class PeftMapBuilder {
 public:
  PeftMapBuilder(const ModelConfig& model, const LoraConfig& lora)
      : names_(tensor_map(model)), lora_(lora) {}

  void add(const BlockAdapter& adapter) {
    const std::string module = module_of(names_, adapter);
    const int64_t inputs = elements_of_all(adapter.adapter.inputs),
                  outputs = elements_of_all(adapter.adapter.outputs);
    Shape a, b{lora_.rank};
    for (const Dim& dim : adapter.adapter.inputs) a.push_back(dim.size);
    for (const Dim& dim : adapter.adapter.outputs) b.push_back(dim.size);
    a.push_back(lora_.rank);
    turned(adapter.a, a, module, kA, inputs, lora_.rank);
    turned(adapter.b, b, module, kB, lora_.rank, outputs);
    const std::string word = last_word(module);
    if (std::ranges::count(map_.modules, word) == 0) map_.modules.push_back(word);
  }

  PeftMap take() { return std::move(map_); }

 private:
  void turned(const std::string& ours, const Shape& shape, const std::string& module,
              std::string_view ending, int64_t rows, int64_t columns) {
    const std::string theirs = fmt::format("{}{}{}", kPrefix, module, ending);
    map_.ours[ours] = shape;
    map_.theirs[theirs] = {columns, rows};
    map_.patches.push_back({.ours = ours,
                            .theirs = theirs,
                            .rows = rows,
                            .columns = columns,
                            .our_row = columns,
                            .their_row = 1,
                            .their_column = rows});
  }

  TensorMap names_;
  const LoraConfig& lora_;
  PeftMap map_;
};

}  // namespace

PeftMap peft_map(const ModelConfig& model, const LoraConfig& lora) {
  PeftMapBuilder builder(model, lora);
  for (const BlockAdapter& adapter : adapters_of(plain_module(model), lora)) builder.add(adapter);
  return builder.take();
}

std::string module_of_peft(const std::string& theirs) {
  for (const std::string_view ending : {kA, kB})
    if (theirs.starts_with(kPrefix) && theirs.ends_with(ending))
      return theirs.substr(kPrefix.size(), theirs.size() - kPrefix.size() - ending.size());
  return {};
}

std::string adapter_of_module(const std::string& module) {
  for (const PeftName& name : kPeftNames)
    if (name.module == last_word(module)) return std::string(name.adapter);
  return {};
}

}  // namespace tessera
