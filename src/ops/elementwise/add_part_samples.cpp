// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

const TensorType kPairs{DType::Fp64, {{"batch", 2}, {"seq", 3}, {"gate_up", 2}, {"mlp", 5}}};
const TensorType kTriples{DType::Fp64, {{"seq", 4}, {"part", 3}, {"kv_heads", 2}, {"e", 8}}};
const TensorType kLargePairs{DType::Fp64, {{"seq", 40}, {"gate_up", 2}, {"mlp", 600}}};

TensorType part_of(TensorType type, const char* dim) {
  type.dims.erase(type.dims.begin() + type.index_of(dim));
  return type;
}

Attributes at(const char* dim, int64_t index) { return {{"dim", dim}, {"index", index}}; }

}  // namespace

std::vector<OpSample> add_part_samples() {
  return {
      {.name = "the_first_of_two",
       .operands = {{.type = kPairs}, {.type = part_of(kPairs, "gate_up")}},
       .attributes = at("gate_up", 0),
       .flops = 30},
      {.name = "the_last_of_three",
       .operands = {{.type = kTriples}, {.type = part_of(kTriples, "part")}},
       .attributes = at("part", 2),
       .flops = 64},
      {.name = "several_pieces",
       .operands = {{.type = kLargePairs}, {.type = part_of(kLargePairs, "gate_up")}},
       .attributes = at("gate_up", 1),
       .flops = 24000},
  };
}

std::vector<OpSample> take_part_samples() {
  return {
      {.name = "the_last_of_two",
       .operands = {{.type = kPairs}},
       .attributes = at("gate_up", 1),
       .flops = 0},
      {.name = "the_middle_of_three",
       .operands = {{.type = kTriples}},
       .attributes = at("part", 1),
       .flops = 0},
      {.name = "several_pieces",
       .operands = {{.type = kLargePairs}},
       .attributes = at("gate_up", 0),
       .flops = 0},
  };
}

}  // namespace tessera
