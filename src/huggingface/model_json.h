// SPDX-License-Identifier: Apache-2.0
// Reads and writes a model as Hugging Face's config.json: GPT-2, Llama 3, Qwen 3, their mixtures
// and DeepSeek-V3. A key that requires unsupported maths is rejected, never ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "models/model_config.h"

namespace tessera {

ModelConfig parse_model_json(std::string_view text, const std::filesystem::path& path);

// A UserError if none of them is such a model.
void check_exportable(const ModelConfig& model);
// The tokens with which texts begin and end, as far as they are known.
struct TextEnds {
  std::optional<int32_t> begin = {}, end = {};
};
// For an exportable model.
std::string model_json(const ModelConfig& model, DType weights, const TextEnds& ends = {});

}  // namespace tessera
