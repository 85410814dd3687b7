// SPDX-License-Identifier: Apache-2.0
#include "models/build_model.h"

namespace tessera {

namespace {

Module build(const ModelRequest& request) {
  switch (request.config.family) {
    case Family::Mlp:
      return build_mlp(request);
    case Family::Gpt:
      return build_gpt(request);
    case Family::Llama:
    case Family::Qwen:
      return build_llama(request);
  }
  check_failed("family is known", __FILE__, __LINE__, std::string(name(request.config.family)));
}

void keep_in_own_dtype(Module& module) {
  for (BlockClass& block_class : module.classes)
    for (GraphInput& input : block_class.graph.inputs())
      if (input.state && input.state->role == StateRole::Parameter) input.state->pure = true;
}

}  // namespace

Module build_model(const ModelConfig& config, BatchShape shape, Precision precision,
                   HeadKind head) {
  const ModelRequest request{resolved(config), shape, precision.compute, head};
  check_batch_shape(request.config, shape);
  Module module = build(request);
  if (precision.pure) keep_in_own_dtype(module);
  return module;
}

}  // namespace tessera
