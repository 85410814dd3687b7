// SPDX-License-Identifier: Apache-2.0
#include "models/build_model.h"

#include <array>

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
  if (precision.pure) keep_in_own_dtype(module);
  return module;
}

}  // namespace tessera
