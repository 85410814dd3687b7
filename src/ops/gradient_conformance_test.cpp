// SPDX-License-Identifier: Apache-2.0
// Compares every op's gradient rule with finite differences of its own kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "core/random.h"
#include "ops/testing/conformance_case.h"
#include "ops/testing/evaluate_graph.h"

namespace tessera {
namespace {

constexpr int64_t kProbes = 24;  // elements tried per operand

class DifferentiableOp : public testing::TestWithParam<ConformanceCase> {
 protected:
  const OpSample& sample() const { return GetParam().sample; }
  bool checked(size_t i) const {
    const SampleOperand& operand = sample().operands[i];
    return operand.differentiable && is_float(operand.type.dtype);
  }
};

class LossOp : public DifferentiableOp {};
class OpWithParameters : public DifferentiableOp {};

// The weights of result 0 in the number that is differentiated. A loss is that number itself.
HostTensor result_weights(const SampleCall& call) {
  HostTensor weights(call.result_types[0]);
  const bool loss = op_def(call.op).gradient_yields_results;
  const RandomStream random(11, "result weights");
  for (int64_t i = 0; i < weights.size(); ++i)
    weights.set(i, loss ? 1.0 : random.normal(static_cast<uint64_t>(i)));
  return weights;
}

// The gradient of every operand by the op's rule, and the loss if the rule computes it.
struct RuleResult {
  std::vector<std::optional<HostTensor>> gradients;  // by operand; absent where the rule gives none
  std::vector<DType> expected_dtypes;
  HostTensor loss;
};

RuleResult apply_rule(const SampleCall& call, const OpSample& sample, const HostTensor& weights) {
  Graph graph;
  const NodeId node = add_sample_node(graph, call, sample);
  const OpDef& def = op_def(call.op);
  HostTensors inputs;
  for (size_t i = 0; i < call.operands.size(); ++i)
    inputs.emplace(std::string(def.operands[i].name), call.operands[i]);
  std::vector<ValueId> result_gradients(call.result_types.size(), kNone);
  if (!def.gradient_yields_results) {
    result_gradients[0] = graph.add_input(
        {.kind = InputKind::OutputGradient, .value = kNone, .state = {}}, "dy", weights.type());
    inputs.emplace(graph.value(result_gradients[0]).name, weights);
  }
  GradientBuilder builder(graph, node, result_gradients);
  def.gradient(builder);
  const HostTensors values = evaluate_graph(graph, std::move(inputs));
  RuleResult result;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const ValueId id = builder.operand_gradients()[i];
    result.gradients.emplace_back();
    if (id != kNone) result.gradients.back() = values.at(graph.value(id).name);
    result.expected_dtypes.push_back(builder.gradient_dtype(i));
  }
  if (def.gradient_yields_results)
    result.loss = values.at(graph.value(builder.result_stand_ins().at(0)).name);
  return result;
}

// By how much the weighted sum of result 0 grows per unit of element `at` of operand `i`.
double central_difference(SampleCall& call, const HostTensor& weights, size_t i, int64_t at) {
  constexpr double kStep = 1e-5;
  const double before = call.operands[i].at(at);
  call.operands[i].set(at, before + kStep);
  const HostTensor above = run_kernel(call)[0];
  call.operands[i].set(at, before - kStep);
  const HostTensor below = run_kernel(call)[0];
  call.operands[i].set(at, before);
  double sum = 0;
  for (int64_t k = 0; k < weights.size(); ++k) sum += weights.at(k) * (above.at(k) - below.at(k));
  return sum / (2 * kStep);
}

double largest_entry(const std::vector<std::optional<HostTensor>>& tensors) {
  double largest = 0;
  for (const auto& tensor : tensors)
    for (int64_t i = 0; tensor && i < tensor->size(); ++i)
      largest = std::max(largest, std::abs(tensor->at(i)));
  return largest;
}

TEST_P(DifferentiableOp, GradientMatchesFiniteDifferences) {
  SampleCall call = sample_call(GetParam().op, sample(), DType::Fp64);
  const HostTensor weights = result_weights(call);
  const RuleResult rule = apply_rule(call, sample(), weights);
  const double tolerance = 1e-6 * largest_entry(rule.gradients);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (!checked(i)) continue;
    ASSERT_TRUE(rule.gradients[i]) << "no gradient of operand " << i;
    ASSERT_EQ(to_string(rule.gradients[i]->type()), to_string(call.operand_types[i]))
        << "gradient of operand " << i;
    const int64_t size = call.operands[i].size(), stride = (size + kProbes - 1) / kProbes;
    for (int64_t at = 0; at < size; at += stride)
      EXPECT_NEAR(rule.gradients[i]->at(at), central_difference(call, weights, i, at), tolerance)
          << "operand " << i << ", element " << at;
  }
}

TEST_P(LossOp, GradientYieldsTheResultToo) {
  const SampleCall call = sample_call(GetParam().op, sample(), DType::Fp64);
  const RuleResult rule = apply_rule(call, sample(), result_weights(call));
  EXPECT_LE(relative_error(rule.loss, run_kernel(call)[0]), 1e-13);
}

TEST_P(OpWithParameters, GradientOfAParameterIsKeptInTheAccumulatorsDtype) {
  const SampleCall call = sample_call(GetParam().op, sample(), DType::Bf16);
  const RuleResult rule = apply_rule(call, sample(), result_weights(call));
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (!checked(i)) continue;
    ASSERT_TRUE(rule.gradients[i]) << "no gradient of operand " << i;
    EXPECT_EQ(to_string(rule.gradients[i]->type()),
              to_string(with_dtype(call.operand_types[i], rule.expected_dtypes[i])))
        << "operand " << i;
  }
}

bool differentiable(const ConformanceCase& c) {
  bool some = false;
  for (const SampleOperand& operand : c.sample.operands)
    some |= operand.differentiable && is_float(operand.type.dtype);
  return some && op_def(c.op).gradient;
}

bool has_parameters(const ConformanceCase& c) {
  bool some = false;
  for (const SampleOperand& operand : c.sample.operands)
    some |= operand.parameter && operand.differentiable;
  return some && op_def(c.op).gradient;
}

bool is_loss(const ConformanceCase& c) { return op_def(c.op).gradient_yields_results; }

INSTANTIATE_TEST_SUITE_P(OpConformance, OpWithParameters,
                         testing::ValuesIn(conformance_cases(has_parameters)), case_name);
INSTANTIATE_TEST_SUITE_P(OpConformance, LossOp, testing::ValuesIn(conformance_cases(is_loss)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(OpConformance, DifferentiableOp,
                         testing::ValuesIn(conformance_cases(differentiable)), case_name);

}  // namespace
}  // namespace tessera
