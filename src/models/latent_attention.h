// SPDX-License-Identifier: Apache-2.0
// Latent attention (DeepSeek-V2 and V3): queries, keys and values come from small vectors that are
// normalised, and positions from a part of each head that does not.
#pragma once

#include "models/transformer_parts.h"

namespace tessera {

Tensor latent_attention(BlockBuilder& b, const ModelRequest& request, const TransformerDims& dims,
                        Tensor x);

}  // namespace tessera
