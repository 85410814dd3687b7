// SPDX-License-Identifier: Apache-2.0
// One rank: what more of them do is in comm/communicator_test.cpp and tests/plans.
#include "ops/op_sample.h"

namespace tessera {
namespace {

const TensorType kX{DType::Fp64, {{"batch", 3}, {"seq", 4}, {"d", 5}}};

OpSample sample(const char* name, Attributes attributes, TensorType x = kX) {
  return {.name = name,
          .operands = {{.type = std::move(x)}},
          .attributes = std::move(attributes),
          .flops = 0};
}

std::vector<OpSample> along_each_dim() {
  return {sample("an_inner_dim", {{"dim", "seq"}}), sample("the_outermost_dim", {{"dim", "batch"}}),
          sample("the_innermost_dim", {{"dim", "d"}})};
}

}  // namespace

std::vector<OpSample> all_gather_samples() { return along_each_dim(); }
std::vector<OpSample> reduce_scatter_samples() { return along_each_dim(); }

std::vector<OpSample> all_reduce_samples() {
  return {sample("sum", {{"reduction", "sum"}}), sample("largest", {{"reduction", "max"}}),
          sample("over_two_axes", {{"axes", "dp+cp"}})};
}

std::vector<OpSample> all_to_all_samples() {
  return {sample("from_an_outer_dim_to_an_inner_one", {{"split", "d"}, {"join", "seq"}}),
          sample("from_an_inner_dim_to_an_outer_one", {{"split", "seq"}, {"join", "d"}}),
          sample("with_a_dim_between_them", {{"split", "d"}, {"join", "batch"}})};
}

std::vector<OpSample> shift_samples() {
  return {sample("a_ring_of_one", {}), sample("of_a_vector", {}, {DType::Fp64, {{"d", 5}}}),
          sample("of_a_scalar", {}, scalar(DType::Fp64))};
}

// Of one rank: what it sorted is its pool.
std::vector<OpSample> gather_ends_samples() {
  const auto sample_of = [](const char* name, int64_t experts, int64_t rows) -> OpSample {
    const auto ends = [=](int64_t e, double) { return static_cast<double>(rows * (e + 1)); };
    return {.name = name,
            .operands = {{.type = {DType::Int32, {{"expert", experts}}}, .fill = ends}}};
  };
  return {sample_of("of_one_rank", 4, 3), sample_of("of_one_expert", 1, 5),
          sample_of("of_experts_without_rows", 6, 0)};
}

// Pools that are full.
std::vector<OpSample> put_rows_samples() {
  const auto sample_of = [](const char* name, int64_t experts, Dims row) -> OpSample {
    const Dim expert{"expert", experts};
    const auto ends = [](int64_t e, double) { return static_cast<double>(3 * e + 3); };
    Dims dims{expert, {"slot", 3}};
    dims.insert(dims.end(), row.begin(), row.end());
    return {.name = name,
            .operands = {{.type = {DType::Fp64, dims}},
                         {.type = {DType::Int32, {{"sorter", 1}, expert}}, .fill = ends}},
            .flops = 0};
  };
  return {sample_of("rows", 4, {{"d", 5}}), sample_of("gates", 4, {}),
          sample_of("of_one_expert", 1, {{"gate_up", 2}, {"d", 3}})};
}
std::vector<OpSample> take_rows_samples() { return put_rows_samples(); }

// Nothing is in flight: y is there already.
std::vector<OpSample> wait_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 5}}};
  return {
      {.name = "of_a_matrix", .operands = {{.type = x}}},
      {.name = "with_its_source", .operands = {{.type = x}, {.type = x}}},
      {.name = "with_a_source_of_another_size",
       .operands = {{.type = x}, {.type = {DType::Fp64, {{"d", 5}}}}}},
  };
}

std::vector<OpSample> copy_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 5}}};
  return {
      {.name = "to_the_device", .operands = {{.type = x}}},
      {.name = "to_the_host", .operands = {{.type = x}}, .attributes = {{"to", "host"}}},
      {.name = "awaited_later",
       .operands = {{.type = {DType::Fp64, {{"flat", 96}}}}},
       .attributes = {{"to", "host"}, {"async", int64_t{1}}}},
  };
}

std::vector<OpSample> clear_gaps_samples() {
  const TensorType flat{DType::Fp64, {{"flat", 96}}};
  return {
      {.name = "two_gaps", .operands = {{.type = flat}}, .attributes = {{"gaps", "3-32+90-96"}}},
      {.name = "one_gap_at_the_end",
       .operands = {{.type = flat}},
       .attributes = {{"gaps", "33-96"}}},
      {.name = "no_gap", .operands = {{.type = flat}}},
  };
}

}  // namespace tessera
