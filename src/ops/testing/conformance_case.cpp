// SPDX-License-Identifier: Apache-2.0
#include "ops/testing/conformance_case.h"

#include <array>

#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {

#define OP(name, ...) std::vector<OpSample> name##_samples();
#define COLLECTIVE(name) OP(name, collective)
#include "ops/op_list.def"

std::vector<OpSample> samples_of(OpKind op) {
  static constexpr std::array<std::vector<OpSample> (*)(), kNumOps> table{
#define OP(name, ...) &name##_samples,
#define COLLECTIVE(name) OP(name, collective)
#include "ops/op_list.def"
  };
  return table.at(static_cast<size_t>(op))();
}

std::vector<ConformanceCase> conformance_cases(bool (*wanted)(const ConformanceCase&)) {
  std::vector<ConformanceCase> cases;
  for (int i = 0; i < kNumOps; ++i)
    for (OpSample& sample : samples_of(static_cast<OpKind>(i))) {
      ConformanceCase c{.op = static_cast<OpKind>(i), .sample = std::move(sample)};
      if (wanted(c)) cases.push_back(std::move(c));
    }
  return cases;
}

std::string case_name(const testing::TestParamInfo<ConformanceCase>& info) {
  return fmt::format("{}_{}", name(info.param.op), info.param.sample.name);
}

void PrintTo(const ConformanceCase& c, std::ostream* out) {
  *out << name(c.op) << "_" << c.sample.name;
}

NodeId add_sample_node(Graph& graph, const SampleCall& call, const OpSample& sample) {
  std::vector<ValueId> ids;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorType& type = call.operand_types[i];
    const bool step = is_float(type.dtype) && type.dims.empty();
    GraphInput input{.kind = InputKind::Batch, .value = kNone, .state = {}};
    if (sample.operands[i].parameter) {
      input.kind = InputKind::State;
      input.state = StateSpec{};
    } else if (step) {
      input.kind = InputKind::Step;
    } else if (is_float(type.dtype) && sample.operands[i].differentiable) {
      input.kind = InputKind::Stream;
    }
    ids.push_back(
        graph.add_input(std::move(input), std::string(op_def(call.op).operands[i].name), type));
  }
  const auto results = emit(graph, call.op, ids, {.attributes = call.attributes});
  return graph.value(results[0]).producer;
}

}  // namespace tessera
