// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

const TensorType kKeys{DType::Fp64, {{"batch", 2}, {"seq", 6}, {"kv_heads", 4}, {"nope_e", 5}}};
const TensorType kQueries{DType::Fp64,
                          {{"batch", 1}, {"seq", 4}, {"kv_heads", 2}, {"group", 1}, {"nope_e", 8}}};
const TensorType kLarge{DType::Fp64, {{"batch", 1}, {"seq", 60}, {"kv_heads", 4}, {"nope_e", 96}}};

TensorType last(TensorType type, const char* name, int64_t size) {
  type.dims.back() = {name, size};
  return type;
}
TensorType shared(TensorType type, const char* name, int64_t size) {
  type.dims.pop_back();
  return last(type, name, size);
}

}  // namespace

std::vector<OpSample> concat_samples() {
  const Attributes attributes{{"dim", "e"}};
  return {
      {.name = "one_part_for_all_heads",
       .operands = {{.type = kKeys}, {.type = shared(kKeys, "rope_e", 2)}},
       .attributes = attributes,
       .flops = 0},
      {.name = "a_part_for_each_head",
       .operands = {{.type = kQueries}, {.type = last(kQueries, "rope_e", 4)}},
       .attributes = attributes,
       .flops = 0},
      {.name = "several_pieces",
       .operands = {{.type = kLarge}, {.type = shared(kLarge, "rope_e", 72)}},
       .attributes = attributes,
       .flops = 0},
  };
}

std::vector<OpSample> concat_grad_samples() {
  const auto attributes = [](int64_t x_size, int64_t repeated) {
    return Attributes{
        {"x_dim", "nope_e"}, {"x_size", x_size}, {"y_dim", "rope_e"}, {"repeated", repeated}};
  };
  return {
      {.name = "one_part_for_all_heads",
       .operands = {{.type = last(kKeys, "e", 7)}},
       .attributes = attributes(5, 1),
       .flops = 2 * 6 * 3 * 2},
      {.name = "a_part_for_each_head",
       .operands = {{.type = last(kQueries, "e", 12)}},
       .attributes = attributes(8, 0),
       .flops = 0},
      {.name = "one_part_for_two_dims",
       .operands = {{.type = last(kQueries, "e", 12)}},
       .attributes = attributes(8, 2),
       .flops = 4 * 4},
      {.name = "several_pieces",
       .operands = {{.type = last(kLarge, "e", 168)}},
       .attributes = attributes(96, 1),
       .flops = 60 * 3 * 72},
  };
}

}  // namespace tessera
