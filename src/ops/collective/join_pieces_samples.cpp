// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

SampleOperand position(double i) {
  return {.type = {DType::Int32, {}}, .fill = [i](int64_t, double) { return i; }};
}

const TensorType kX{DType::Fp64, {{"batch", 3}, {"seq", 4}, {"d", 5}}};

}  // namespace

std::vector<OpSample> join_pieces_samples() {
  const TensorType wide{DType::Fp64, {{"batch", 2}, {"seq", 2}, {"d", 16}}};
  return {
      {.name = "two_pieces_of_an_inner_dim",
       .operands = {position(1), {.type = kX}, {.type = kX}},
       .attributes = {{"dim", "seq"}},
       .flops = 0},
      {.name = "three_pieces_from_the_middle_of_the_ring",
       .operands = {position(1), {.type = kX}, {.type = kX}, {.type = kX}},
       .attributes = {{"dim", "batch"}},
       .flops = 0},
      {.name = "four_wide_pieces_at_the_start_of_the_ring",
       .operands = {position(0), {.type = wide}, {.type = wide}, {.type = wide}, {.type = wide}},
       .attributes = {{"dim", "seq"}},
       .flops = 0},
      {.name = "a_ring_of_one",
       .operands = {position(0), {.type = kX}},
       .attributes = {{"dim", "d"}},
       .flops = 0},
  };
}

std::vector<OpSample> take_piece_samples() {
  return {
      {.name = "its_own",
       .operands = {{.type = kX}, position(1)},
       .attributes = {{"dim", "seq"}, {"ranks", int64_t{4}}, {"hop", int64_t{0}}},
       .flops = 0},
      {.name = "that_of_the_rank_before",
       .operands = {{.type = kX}, position(2)},
       .attributes = {{"dim", "batch"}, {"ranks", int64_t{3}}, {"hop", int64_t{1}}},
       .flops = 0},
      {.name = "round_the_end_of_the_ring",
       .operands = {{.type = {DType::Fp64, {{"batch", 2}, {"seq", 8}, {"d", 16}}}}, position(1)},
       .attributes = {{"dim", "seq"}, {"ranks", int64_t{4}}, {"hop", int64_t{3}}},
       .flops = 0},
  };
}

}  // namespace tessera
