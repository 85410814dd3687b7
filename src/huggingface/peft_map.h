// SPDX-License-Identifier: Apache-2.0
// Maps adapters to the tensors of a PEFT folder: which modules of transformers have them, and how
// A and B lie there. A is [rank, inputs] and B [outputs, rank]; with us they are turned.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "huggingface/tensor_map.h"

namespace tessera {

struct PeftMap {
  std::map<std::string, std::vector<int64_t>> ours, theirs;  // shapes by name
  std::vector<Patch> patches;
  std::vector<std::string> modules;  // "q_proj": the last word of their names, each once
};

// A UserError where an adapter has no module of its own in transformers.
PeftMap peft_map(const ModelConfig& model, const LoraConfig& lora);

// Of a tensor's name, the module that has it ("model.layers.0.self_attn.q_proj"); empty: it is not
// of an adapter.
std::string module_of_peft(const std::string& theirs);
// Which of our adapters modules of that last name are: "q_proj" is "wq". Empty: none.
std::string adapter_of_module(const std::string& module);

}  // namespace tessera
