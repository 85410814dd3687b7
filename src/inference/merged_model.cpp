// SPDX-License-Identifier: Apache-2.0
#include "inference/merged_model.h"

#include "config/run_spec.h"
#include "core/convert_elements.h"
#include "core/error.h"
#include "ir/optimizer.h"
#include "models/build_model.h"
#include "system/threads.h"

namespace tessera {
namespace {

int64_t elements_of_dims(const Dims& dims) {
  int64_t elements = 1;
  for (const Dim& dim : dims) elements *= dim.size;
  return elements;
}

}  // namespace

MergedModel::MergedModel(const StateSource& adapted, bool averaged)
    : StateSource(adapted.path()), adapted_(adapted), averaged_(averaged), facts_(adapted.facts()) {
  Config config = parse_config(facts_.config_toml, "the checkpoint's config", {});
  model_ = resolve_model(config);
  lora_ = model_.lora;
  if (!lora_.is_on())
    throw user_error("{} has no adapters to merge", path().string()).help("leave out --merge");
  model_.lora = {};
  config.lora = {};
  facts_.config_toml = to_toml(config);
  facts_.base.clear();
  facts_.run.clear();  // it belongs to no run
  for (BlockAdapter& adapter : adapters_of(plain_module(model_), lora_))
    adapters_[adapter.weight].push_back(std::move(adapter));
  for (const auto& [name, tensor] : adapted.tensors())
    if (!is_companion(name) && !is_adapter(name)) add_tensor(name, tensor);
}

// From the most precise copy.
std::vector<double> MergedModel::values_of(const std::string& parameter) const {
  const std::string origin = adapted_.origin_of(parameter, averaged_ && is_adapter(parameter));
  const Tensor& tensor = adapted_.tensors().at(origin);
  return to_doubles({tensor.dtype, {{"flat", tensor.elements()}}}, adapted_.read_whole(origin));
}

// Row by row of the weight: its own inputs are outermost, then the dim that counts its parts.
void MergedModel::add_product(const BlockAdapter& block, std::vector<double>& weights) const {
  const Adapter& adapter = block.adapter;
  const std::vector<double> a = values_of(block.a), b = values_of(block.b);
  const int64_t inputs = elements_of_dims(adapter.inputs), rank = lora_.rank,
                outputs = elements_of_dims(adapter.outputs);
  const int64_t row = std::ssize(weights) / inputs;
  TESSERA_CHECK(
      std::ssize(a) == inputs * rank && std::ssize(b) == rank * outputs && row % outputs == 0,
      "{}: {} by {} by {}", block.weight, inputs, rank, outputs);
  const int64_t begin = std::max(adapter.index, 0) * outputs;
  const double factor = lora_.factor();
  run_parts(static_cast<size_t>(inputs), 0, [&](size_t i, size_t) {
    double* to = weights.data() + static_cast<int64_t>(i) * row + begin;
    for (int64_t k = 0; k < rank; ++k) {
      const double scaled = factor * a[i * static_cast<size_t>(rank) + static_cast<size_t>(k)];
      const double* from = b.data() + k * outputs;
      for (int64_t o = 0; o < outputs; ++o) to[o] += scaled * from[o];
    }
  });
}

std::vector<std::byte> MergedModel::merged(const std::string& name) const {
  std::vector<double> weights = values_of(name);
  for (const BlockAdapter& adapter : adapters_.at(name)) add_product(adapter, weights);
  const Tensor& tensor = tensors().at(name);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.elements() * size_bytes(tensor.dtype)));
  convert_elements(DType::Fp64, std::as_bytes(std::span(weights)), tensor.dtype, bytes);
  return bytes;
}

void MergedModel::for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                                   const Overlap& f) const {
  if (!adapters_.contains(name)) return pass_overlaps(adapted_, name, wanted, f);
  if (prepared_name_ != name) {
    prepared_name_.clear();
    prepared_ = merged(name);
    prepared_name_ = name;
  }
  pass_parts(prepared_, tensors().at(name).dtype, wanted, f);
}

}  // namespace tessera
