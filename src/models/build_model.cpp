// SPDX-License-Identifier: Apache-2.0
#include "models/build_model.h"

#include <array>

#include "models/lora.h"

namespace tessera {
namespace {

// In the order of kFamilies.
constexpr std::array<Module (*)(const ModelRequest&), kFamilies.size()> kBuilders{
    build_mlp, build_gpt, build_llama, build_llama, build_own};

void keep_in_own_dtype(Module& module) {
  for (BlockClass& block_class : module.classes)
    for (GraphInput& input : block_class.graph.inputs())
      if (input.state && input.state->role == StateRole::Parameter) input.state->pure = true;
}

}  // namespace

Module build_model(const ModelConfig& config, BatchShape shape, Precision precision, HeadKind head,
                   CacheRequest cache) {
  const ModelRequest request{resolved(config), shape, precision.compute, head, cache};
  check_batch_shape(request.config, shape);
  Module module = kBuilders[static_cast<size_t>(config.family)](request);
  if (request.config.lora.is_on()) add_lora(module, request.config.lora);
  if (precision.pure) keep_in_own_dtype(module);
  return module;
}

Module plain_module(ModelConfig config) {
  config.lora = {};
  // Maths of a program's own need not fit one token.
  const int64_t seq = config.own ? config.context : 1;
  return build_model(config, {.batch = 1, .seq = seq}, DType::Fp32, HeadKind::Loss);
}

}  // namespace tessera
