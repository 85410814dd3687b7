// SPDX-License-Identifier: Apache-2.0
// The rope settings of a config.json, in the older style (rope_theta, rope_scaling) or the newer
// (rope_parameters).
#pragma once

#include "huggingface/json_fields.h"
#include "models/model_config.h"

namespace tessera {

// YaRN is read where attention is latent, which must be known.
void read_rope(const Fields& json, ModelConfig& model);

// In both styles, so that every version of transformers reads them.
void add_rope(const ModelConfig& model, Json& json);

}  // namespace tessera
