// SPDX-License-Identifier: Apache-2.0
// A model as Hugging Face's config.json says it: gpt2, llama and qwen3. A key that would change the
// maths to one that we have not is refused, never passed over.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "models/model_config.h"

namespace tessera {

// Rotations in the older style (rope_theta, rope_scaling) or the newer (rope_parameters).
ModelConfig parse_model_json(std::string_view text, const std::filesystem::path& path);

// A UserError where none of the three is such a model.
void check_exportable(const ModelConfig& model);
// Of an exportable model. Rotations in both styles, so that every version of transformers reads
// them.
std::string model_json(const ModelConfig& model, DType weights);

}  // namespace tessera
