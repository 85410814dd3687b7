// SPDX-License-Identifier: Apache-2.0
// LoRA (Hu et al. 2021) as a change of a module: beside each targeted weight W of a matmul stand
// two small ones, and x W becomes x W + (x A) B * alpha / rank. All other parameters are frozen. B
// begins as zeros, so the first step has the loss of the model without adapters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "models/lora_config.h"

namespace tessera {

// The dim between A and B, which no plan splits.
inline constexpr std::string_view kLoraDim = "lora_rank";

// One adapter of a class. Of a weight that is several of one shape ("gate_up") each has its own.
struct Adapter {
  std::string weight;              // "gate_up"
  std::string name;                // "gate"; of a single weight its name
  int index = -1;                  // along the weight's dim that counts them; -1: it has none
  std::string stack = {};          // that dim
  Dims inputs = {}, outputs = {};  // of the product

  std::string a() const { return name + "_lora_a"; }
  std::string b() const { return name + "_lora_b"; }
};

// The adapters of a class: those of weights of its matmuls that the model declares with matrix().
std::vector<Adapter> adapters_of(const BlockClass& block_class, const LoraConfig& lora);

// The same of all blocks, with the full names that checkpoints have.
struct BlockAdapter {
  Adapter adapter;
  std::string weight, a, b;  // "layer.3.wq", "layer.3.wq_lora_a"
};
std::vector<BlockAdapter> adapters_of(const Module& module, const LoraConfig& lora);

// A UserError where a target names no weight of a matmul.
void add_lora(Module& module, const LoraConfig& lora);

bool is_adapter(std::string_view parameter);  // by its name, full or in its class

}  // namespace tessera
