// SPDX-License-Identifier: Apache-2.0
// Which elements of Hugging Face's tensors are which of ours. One list of patches serves both
// directions, and each element of either side lies in exactly one of them: so what is imported and
// exported again has the same bits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/model_config.h"

namespace tessera {

// A matrix that is part of a tensor on either side. In elements; columns of ours lie together.
struct Patch {
  std::string ours, theirs;
  int64_t rows = 1, columns = 0;
  int64_t our_begin = 0, our_row = 0;  // first element; from one row to the next
  int64_t their_begin = 0, their_row = 0, their_column = 1;
};

struct TensorMap {
  std::map<std::string, std::vector<int64_t>> ours, theirs;  // shapes by name
  std::vector<Patch> patches;
};

// Of a gpt as GPT-2, else of a Llama 3, with norms of queries and keys a Qwen 3. The config is
// resolved and one that `model_json` takes.
TensorMap tensor_map(const ModelConfig& model);

// What stands before the name of every tensor of theirs but the head's: "transformer." or "model.";
// files of a model saved without its head lack it.
std::string tensor_prefix(const ModelConfig& model);

}  // namespace tessera
