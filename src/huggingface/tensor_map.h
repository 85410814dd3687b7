// SPDX-License-Identifier: Apache-2.0
// Maps elements of Hugging Face's tensors to elements of ours. One list of patches serves both
// directions, and each element of either side is in exactly one of them: so a round trip of import
// and export is bitwise exact.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/model_config.h"

namespace tessera {

// A matrix that is part of a tensor on either side. In elements; our columns are contiguous.
struct Patch {
  std::string ours, theirs;
  int64_t rows = 1, columns = 0;
  int64_t our_begin = 0, our_row = 0;  // first element; from one row to the next
  int64_t their_begin = 0, their_row = 0, their_column = 1;
};

struct TensorMap {
  std::map<std::string, std::vector<int64_t>> ours, theirs;  // shapes by name
  std::vector<Patch> patches;
  // Theirs alone, and zero: biases that routers choose with, where ours do not have them.
  std::map<std::string, std::vector<int64_t>> zeros;
};

// A tensor for each expert, as models are published, or one for all, as transformers 5 holds them.
enum class ExpertLayout : uint8_t { PerExpert, Merged };

// A sigmoid router, and an expert that sees every token.
bool has_deepseek_mixture(const ModelConfig& model);

// Maps a gpt to GPT-2, a model with norms of queries and keys to Qwen 3, others to Llama 3; those
// with experts to OLMoE, Qwen 3 MoE, dots.llm1 or Mixtral; with latent attention to DeepSeek-V3.
// The config must be resolved, and one that `model_json` supports.
TensorMap tensor_map(const ModelConfig& model, ExpertLayout layout = ExpertLayout::PerExpert);

// A tensor that only a folder with merged experts has.
std::string merged_experts_name(const ModelConfig& model);

// The prefix of all their tensor names except the head's: "transformer." or "model."; files of a
// model saved without its head lack it.
std::string tensor_prefix(const ModelConfig& model);

}  // namespace tessera
