// SPDX-License-Identifier: Apache-2.0
#include "models/build_model.h"

namespace tessera {

Module build_model(const ModelConfig& config, BatchShape shape, DType compute, HeadKind head) {
  const ModelRequest request{resolved(config), shape, compute, head};
  check_batch_shape(request.config, shape);
  switch (config.family) {
    case Family::Mlp:
      return build_mlp(request);
    case Family::Gpt:
      return build_gpt(request);
    case Family::Llama:
    case Family::Qwen:
      return build_llama(request);
  }
  check_failed("family is known", __FILE__, __LINE__, std::string(name(config.family)));
}

}  // namespace tessera
