// SPDX-License-Identifier: Apache-2.0
// What adapters a model has beside its frozen weights; those that are added are in models/lora.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct LoraConfig {
  int64_t rank = 0;  // 0: none
  double alpha = 16;
  std::vector<std::string> targets = {};  // names of weights, or globs; empty: all
  // What is frozen is stored with another model: checkpoints hold the adapters alone.
  bool in_base = false;

  bool is_on() const { return rank > 0; }
  double factor() const { return alpha / static_cast<double>(rank); }
  bool operator==(const LoraConfig&) const = default;
};

}  // namespace tessera
