// SPDX-License-Identifier: Apache-2.0
// Reads and writes a model as Hugging Face's config.json: gpt2, llama and qwen3. A key that
// requires unsupported maths is rejected, never ignored.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "models/model_config.h"

namespace tessera {

// RoPE settings in the older style (rope_theta, rope_scaling) or the newer (rope_parameters).
ModelConfig parse_model_json(std::string_view text, const std::filesystem::path& path);

// A UserError if none of the three is such a model.
void check_exportable(const ModelConfig& model);
// For an exportable model. RoPE settings are in both styles, so that every version of transformers
// reads them.
std::string model_json(const ModelConfig& model, DType weights);

}  // namespace tessera
