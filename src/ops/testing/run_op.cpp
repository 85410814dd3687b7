// SPDX-License-Identifier: Apache-2.0
#include "ops/testing/run_op.h"

#include "core/random.h"
#include "ir/emit.h"

namespace tessera {

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
