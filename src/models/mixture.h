// SPDX-License-Identifier: Apache-2.0
// A mixture of experts as a layer's mlp: a router, experts that are gated mlps, and, where the
// config says so, an expert that sees every token.
#pragma once

#include "models/transformer_parts.h"

namespace tessera {

Tensor mixture(BlockBuilder& b, const ModelRequest& request, const TransformerDims& dims, Tensor x);

}  // namespace tessera
