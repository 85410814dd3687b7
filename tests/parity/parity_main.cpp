// SPDX-License-Identifier: Apache-2.0
// tessera_parity: writes one run of a parity case as safetensors, for oracle.py to repeat.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <map>

#include "core/error.h"
#include "files/safetensors.h"
#include "models/model_field.h"
#include "parity/parity_run.h"

namespace tessera {
namespace {

std::map<std::string, std::string> describe(const ParityCase& parity_case, DType dtype) {
  std::map<std::string, std::string> text;
  const ModelConfig model = resolved(parity_case.model);
  for (const ModelField& field : model_fields())
    text[fmt::format("model.{}", field.key)] = model_field_text(model, field);
  const OptimizerOptions& optimizer = parity_case.optimizer;
  text["case"] = parity_case.name;
  text["optimizer"] = name(optimizer.op);
  text["dtype"] = name(dtype);
  text["steps"] = fmt::format("{}", kParitySteps);
  text["microbatches"] = fmt::format("{}", parity_case.microbatches);
  OptimizerSettings settings = optimizer.settings;
  settings.merge(default_settings(*find_optimizer(optimizer.op)));
  for (const auto& [setting, value] : settings) text[setting] = fmt::format("{}", value);
  text["weight_decay"] = fmt::format("{}", optimizer.weight_decay);
  text["clip_norm"] = fmt::format("{}", optimizer.clip_norm);
  text["ema_decay"] = fmt::format("{}", optimizer.ema_decay);
  return text;
}

NamedTensor row_of(std::string name, std::span<const double> values) {
  const auto bytes = std::as_bytes(values);
  return {std::move(name),
          {DType::Fp64, {{"step", static_cast<int64_t>(values.size())}}},
          {bytes.begin(), bytes.end()}};
}

std::vector<NamedTensor> tensors_of(const ParityRun& run) {
  std::vector<NamedTensor> all;
  const auto take = [&](const std::string& prefix, const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& tensor : tensors)
      all.push_back({prefix + tensor.name, tensor.type, tensor.bytes});
  };
  take("weight.", run.weights);
  take("", run.batches);
  take("gradient.", run.gradients);
  take("final.", run.final_weights);
  take("final.", run.averages);
  std::array<double, kParitySteps> rates{};
  for (int step = 0; step < kParitySteps; ++step)
    rates[static_cast<size_t>(step)] = learning_rate(step);
  all.push_back(row_of("learning_rate", rates));
  all.push_back(row_of("loss", run.losses));
  all.push_back(row_of("gradient_norm", run.gradient_norms));
  return all;
}

void write(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
           const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsEntry> entries;
  for (const NamedTensor& tensor : tensors) {
    std::vector<int64_t> shape;
    for (const Dim& dim : tensor.type.dims) shape.push_back(dim.size);
    entries.push_back({tensor.name, tensor.type.dtype, std::move(shape)});
  }
  SafetensorsWriter writer(path, std::move(entries), metadata);
  for (const NamedTensor& tensor : tensors) writer.write(tensor.name, tensor.bytes);
  writer.commit();
}

int run(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--list"}) {
    for (const ParityCase& parity_case : parity_cases()) fmt::print("{}\n", parity_case.name);
    return 0;
  }
  const bool enough = arguments.size() == 4 && (arguments[3] == "cpu" || arguments[3] == "cuda");
  const auto dtype = enough ? dtype_from_name(arguments[1]) : std::nullopt;
  if (!dtype)
    throw UserError("four arguments are needed")
        .help(
            "tessera_parity --list, or tessera_parity <case> <bf16|fp32|fp64> <file.safetensors> "
            "<cpu|cuda>");
  const ParityCase& parity_case = find_parity_case(arguments[0]);
  write(arguments[2], tensors_of(run_parity(parity_case, *dtype, {.gpu = arguments[3] == "cuda"})),
        describe(parity_case, *dtype));
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  try {
    return tessera::run({argv + 1, argv + argc});
  } catch (const tessera::UserError& error) {
    fmt::print(stderr, "{}\n", error.report());
    return 2;
  }
}
