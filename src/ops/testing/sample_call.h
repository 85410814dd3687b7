// SPDX-License-Identifier: Apache-2.0
// Turns a sample of an op into a call in one compute dtype, and runs its kernel between guards.
#pragma once

#include <string_view>

#include "ir/op_def.h"
#include "ops/op_sample.h"
#include "ops/testing/host_tensor.h"

namespace tessera {

struct SampleCall {
  OpKind op;
  Attributes attributes;  // complete
  std::vector<HostTensor> operands;
  std::vector<TensorType> operand_types, result_types;

  OpCall types() const { return {op, attributes, operand_types, result_types}; }
};

// Floats take the compute dtype, operands marked `accumulator` and attributes that say fp64 its
// accumulator's; scalars are step values and stay fp64.
SampleCall sample_call(OpKind op, const OpSample& sample, DType compute);

// The fp64 call on the values that `rounded` has.
SampleCall exact_call(OpKind op, const OpSample& sample, const SampleCall& rounded);

struct KernelRun {
  int threads = 1;
  std::vector<InPlace> in_place = {};
  std::vector<HostTensor> added_to = {};  // what results hold before, by result; else all ones
  uint64_t accumulate = 0;
  std::byte workspace_fill{0xff};
};

// A run that accumulates wherever the op may, and its expected results.
struct AddingRun {
  KernelRun run;
  std::vector<HostTensor> expected;
};
AddingRun adding_run(OpKind op, const std::vector<HostTensor>& fresh);

// The results. Fails the running test if the kernel writes outside a buffer or into an operand.
std::vector<HostTensor> run_kernel(const SampleCall& call, KernelRun run = {});

// Runs one kernel on existing tensors, for tests that combine several calls.
std::vector<HostTensor> run_op(OpKind op, std::vector<HostTensor> operands,
                               const Attributes& attributes = {});

HostTensor random_tensor(TensorType type, std::string_view purpose);  // normal(0, 1)
HostTensor scalar_tensor(DType dtype, double value);
void add_to(HostTensor& sum, const HostTensor& term);  // in double, whatever the dtype

}  // namespace tessera
