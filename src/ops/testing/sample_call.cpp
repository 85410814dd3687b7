// SPDX-License-Identifier: Apache-2.0
#include "ops/testing/sample_call.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/translate_node.h"
#include "core/random.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/emit.h"

namespace tessera {
namespace {

DType dtype_in(const SampleOperand& operand, DType compute) {
  if (!is_float(operand.type.dtype) || operand.type.dims.empty() || operand.own_dtype)
    return operand.type.dtype;
  return operand.accumulator ? accumulator_of(compute) : compute;
}

Attributes attributes_in(const Attributes& attributes, DType compute) {
  Attributes derived;
  for (auto [key, value] : attributes.entries()) {
    if (value == Attribute("fp64")) value = std::string(name(accumulator_of(compute)));
    derived.set(key, value);
  }
  return derived;
}

HostTensor filled(const SampleOperand& operand, size_t i, DType compute) {
  const RandomStream random(7, fmt::format("operand {}", i));
  HostTensor tensor(with_dtype(operand.type, dtype_in(operand, compute)), Guard::Operand);
  for (int64_t at = 0; at < tensor.size(); ++at) {
    const auto index = static_cast<uint64_t>(at);
    tensor.set(at, operand.fill ? operand.fill(at, random.uniform(index)) : random.normal(index));
  }
  return tensor;
}

SampleCall typed(OpKind op, Attributes attributes, std::vector<HostTensor> operands) {
  SampleCall call{.op = op,
                  .attributes = std::move(attributes),
                  .operands = std::move(operands),
                  .operand_types = {},
                  .result_types = {}};
  for (const HostTensor& operand : call.operands) call.operand_types.push_back(operand.type());
  call.result_types = infer_types(op, call.attributes, call.operand_types);
  return call;
}

// The call as the only node of a graph.
Node node_of(const SampleCall& call) {
  Node node{};
  node.op = call.op;
  node.attributes = call.attributes;
  for (size_t i = 0; i < call.operands.size(); ++i) node.operands.push_back(static_cast<int>(i));
  for (size_t i = 0; i < call.result_types.size(); ++i)
    node.results.push_back(static_cast<int>(call.operands.size() + i));
  return node;
}

}  // namespace

SampleCall sample_call(OpKind op, const OpSample& sample, DType compute) {
  std::vector<HostTensor> operands;
  for (size_t i = 0; i < sample.operands.size(); ++i)
    operands.push_back(filled(sample.operands[i], i, compute));
  return typed(op, complete_attributes(op, attributes_in(sample.attributes, compute)),
               std::move(operands));
}

SampleCall exact_call(OpKind op, const OpSample& sample, const SampleCall& rounded) {
  std::vector<HostTensor> operands;
  for (size_t i = 0; i < sample.operands.size(); ++i)
    operands.push_back(
        converted(rounded.operands[i], sample.operands[i].type.dtype, Guard::Operand));
  return typed(op, complete_attributes(op, sample.attributes), std::move(operands));
}

std::vector<HostTensor> run_kernel(const SampleCall& call, KernelRun run) {
  std::vector<HostTensor> operands = call.operands, results;
  for (size_t i = 0; i < call.result_types.size(); ++i)
    results.push_back(i < run.added_to.size() ? run.added_to[i] : HostTensor(call.result_types[i]));
  std::vector<TensorRef> operand_refs, result_refs;
  for (HostTensor& operand : operands) operand_refs.push_back(operand.ref());
  for (HostTensor& result : results) result_refs.push_back(result.ref());
  for (const InPlace& pair : run.in_place)
    result_refs[pair.result].data = operand_refs[pair.operand].data;

  const OpDef& def = op_def(call.op);
  const DeviceProfile profile{.threads = run.threads};
  GuardedBuffer workspace(def.workspace_bytes ? def.workspace_bytes(call.types(), profile) : 0);
  std::ranges::fill(workspace.bytes(), run.workspace_fill);
  ThreadPool threads(run.threads);
  const std::vector<Group> alone(1);
  const RankGroups groups({}, alone, nullptr);
  InstructionRunner runner(groups, memory_mover());
  run_instruction(translate_node(node_of(call), call.operand_types, alone), kNone,
                  {.operands = operand_refs,
                   .results = result_refs,
                   .accumulate = run.accumulate,
                   .workspace = workspace.bytes()},
                  runner, threads);

  EXPECT_TRUE(workspace.guards_intact())
      << "wrote outside a workspace of " << workspace.bytes().size() << " bytes";
  for (size_t i = 0; i < operands.size(); ++i) {
    EXPECT_TRUE(operands[i].guards_intact()) << "wrote outside operand " << i;
    const auto over = std::ranges::find(run.in_place, i, &InPlace::operand);
    if (over != run.in_place.end())
      std::ranges::copy(operands[i].bytes(), results[over->result].bytes().begin());
    else
      EXPECT_TRUE(operands[i].same_bits(call.operands[i])) << "wrote into operand " << i;
  }
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(results[i].guards_intact()) << "wrote outside result " << i;
  return results;
}

AddingRun adding_run(OpKind op, const std::vector<HostTensor>& fresh) {
  AddingRun adding;
  KernelRun& run = adding.run;
  run.added_to = fresh;
  for (const size_t i : op_def(op).accumulates)
    if (i < fresh.size()) run.accumulate |= uint64_t{1} << i;
  for (size_t i = 0; i < fresh.size(); ++i) {
    for (int64_t at = 0; at < fresh[i].size(); ++at)
      run.added_to[i].set(at, 0.5 * fresh[i].at(at) + static_cast<double>(at % 5) - 2);
    HostTensor& expected = adding.expected.emplace_back(converted(fresh[i], DType::Fp64));
    if ((run.accumulate >> i) & 1u)
      for (int64_t at = 0; at < expected.size(); ++at)
        expected.set(at, op_def(op).accumulates_largest
                             ? std::max(run.added_to[i].at(at), fresh[i].at(at))
                             : run.added_to[i].at(at) + fresh[i].at(at));
  }
  return adding;
}

std::vector<HostTensor> run_op(OpKind op, std::vector<HostTensor> operands,
                               const Attributes& attributes) {
  SampleCall call{.op = op,
                  .attributes = complete_attributes(op, attributes),
                  .operands = std::move(operands),
                  .operand_types = {},
                  .result_types = {}};
  for (const HostTensor& operand : call.operands) call.operand_types.push_back(operand.type());
  call.result_types = infer_types(op, call.attributes, call.operand_types);
  return run_kernel(call, {.threads = 2});
}

HostTensor random_tensor(TensorType type, std::string_view purpose) {
  const RandomStream random(5, purpose);
  HostTensor tensor(std::move(type));
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, random.normal(static_cast<uint64_t>(i)));
  return tensor;
}

HostTensor scalar_tensor(DType dtype, double value) {
  HostTensor tensor(scalar(dtype));
  tensor.set(0, value);
  return tensor;
}

void add_to(HostTensor& sum, const HostTensor& term) {
  TESSERA_CHECK(sum.size() == term.size());
  for (int64_t i = 0; i < sum.size(); ++i) sum.set(i, sum.at(i) + term.at(i));
}

}  // namespace tessera
