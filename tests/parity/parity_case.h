// SPDX-License-Identifier: Apache-2.0
// The small models that are compared with PyTorch. Sizes are odd on purpose: nothing divides by a
// vector's width.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor_type.h"
#include "ir/optimizer.h"
#include "models/model_config.h"

namespace tessera {

inline constexpr int kParitySteps = 10;

struct ParityCase {
  std::string_view name;
  ModelConfig model;
  BatchShape shape;
  int microbatches = 1;
  OptimizerOptions optimizer = {};
  int documents = 1;               // per row
  bool restart_positions = false;  // positions count from 0 in each document, not in each row
  double ignored = 0;              // share of labels that do not count
};

inline void PrintTo(const ParityCase& parity_case, std::ostream* out) { *out << parity_case.name; }

std::span<const ParityCase> parity_cases();
const ParityCase& find_parity_case(std::string_view name);  // a UserError when absent

double learning_rate(int step);  // steps count from 0; a warm-up, so that it changes

// One batch input, as bytes of its type.
std::vector<std::byte> make_batch_input(const ParityCase& parity_case, const std::string& input,
                                        const TensorType& type, int step, int microbatch);

}  // namespace tessera
