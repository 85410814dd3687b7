// SPDX-License-Identifier: Apache-2.0
// Kernels over tensors of more than 2^31 elements, as sequences of 131,072 tokens have them. Their
// operands repeat with a period of a few tokens, so results must, too: an index that overflows
// would leave the zeros that were there.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "exec/cuda/causal_attention.h"
#include "exec/cuda/cuda_call.h"
#include "exec/cuda/device_memory.h"
#include "exec/cuda/matrix_products.h"
#include "exec/device.h"
#include "ir/emit.h"
#include "ir/op_list.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

constexpr int64_t kPeriod = 64;  // tokens
constexpr int64_t kManyElements = (int64_t{1} << 31) + (1 << 24);

struct LongCase {
  OpKind op;
  std::vector<TensorType> operands;  // those with a dim seq repeat; others are random
};

// Operands of one token, and how many elements of the largest that is.
LongCase long_case(OpKind op) {
  const int64_t wide = 16384, heads = 64, e = 128;
  const auto tokens = [](int64_t elements) {
    return (kManyElements / elements + kPeriod - 1) / kPeriod * kPeriod;
  };
  const auto bf16 = [](Dims dims) { return TensorType{DType::Bf16, std::move(dims)}; };
  const auto index = [](int64_t seq) {
    return TensorType{DType::Int32, {{"batch", 1}, {"seq", seq}}};
  };
  const int64_t t = tokens(op == OpKind::rope ? heads * e : wide);
  const Dims token{{"batch", 1}, {"seq", t}};
  const auto of_token = [&](Dims more) {
    Dims dims = token;
    dims.insert(dims.end(), more.begin(), more.end());
    return bf16(dims);
  };
  const TensorType row = of_token({{"d", wide}});
  switch (op) {
    case OpKind::swiglu:
      return {op, {of_token({{"gate_up", 2}, {"mlp", wide}})}};
    case OpKind::swiglu_grad:
      return {op, {of_token({{"gate_up", 2}, {"mlp", wide}}), of_token({{"mlp", wide}})}};
    case OpKind::rms_norm:
      return {op, {row, bf16({{"d", wide}})}};
    case OpKind::rope:
      return {op, {of_token({{"kv_heads", heads}, {"e", e}}), index(t)}};
    case OpKind::embedding:
      return {op, {bf16({{"vocab", 128}, {"d", wide}}), index(t)}};
    case OpKind::matmul:
      return {op, {of_token({{"k", 64}}), bf16({{"k", 64}, {"mlp", wide}})}};
    default:
      return {op, {row, row}};
  }
}

int64_t seq_of(const TensorType& type) {
  for (const Dim& dim : type.dims)
    if (dim.name == "seq") return dim.size;
  return 0;
}

// A period of random values, or of small whole numbers, repeated on the GPU.
std::unique_ptr<DeviceMemory> repeated(const TensorType& type, uint64_t seed) {
  TensorType part = type;
  for (Dim& dim : part.dims)
    if (dim.name == "seq") dim.size = kPeriod;
  HostTensor tensor = random_tensor(part, fmt::format("operand {}", seed));
  if (type.dtype == DType::Int32)
    for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i % 100));
  auto memory = std::make_unique<DeviceMemory>(type.bytes());
  memory->fill(tensor.bytes());
  for (int64_t done = part.bytes(); done < type.bytes(); done *= 2)
    check_cuda(cudaMemcpy(memory->data() + done, memory->data(),
                          static_cast<size_t>(std::min(done, type.bytes() - done)),
                          cudaMemcpyDeviceToDevice),
               "repeat values");
  check_cuda(cudaDeviceSynchronize(), "wait");
  return memory;
}

std::vector<std::byte> period(const DeviceMemory& memory, int64_t bytes, int64_t which) {
  std::vector<std::byte> host(static_cast<size_t>(bytes));
  check_cuda(
      cudaMemcpy(host.data(), memory.data() + which * bytes, host.size(), cudaMemcpyDeviceToHost),
      "copy from the GPU");
  return host;
}

class LongSequences : public testing::TestWithParam<OpKind> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
    size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "ask for free memory");
    if (free < size_t{24} << 30) GTEST_SKIP() << "this GPU has less than 24 GiB free";
  }
};

TEST_P(LongSequences, EveryPeriodOfTheResultIsTheFirst) {
  const LongCase c = long_case(GetParam());
  const Attributes attributes = complete_attributes(c.op, {});
  const std::vector<TensorType> types = infer_types(c.op, attributes, c.operands);
  const OpCall call{c.op, attributes, c.operands, types};
  MatrixProducts products(AlgorithmFile(std::filesystem::path(testing::TempDir()) / "long"));
  CausalAttention attention;
  std::vector<std::unique_ptr<DeviceMemory>> operand_memory, result_memory;
  std::vector<TensorRef> operands, results;
  for (const TensorType& type : c.operands) {
    operand_memory.push_back(repeated(type, operand_memory.size()));
    operands.push_back({&type, operand_memory.back()->data()});
  }
  for (const TensorType& type : types) {
    result_memory.push_back(std::make_unique<DeviceMemory>(type.bytes()));
    results.push_back({&type, result_memory.back()->data()});
  }
  const DeviceMemory workspace(std::max<int64_t>(256, cuda_workspace_bytes(call, attention)));
  const DeviceStream stream;
  cuda_kernel(c.op)({{.operands = operands,
                      .results = results,
                      .workspace = {workspace.data(), static_cast<size_t>(workspace.bytes())}},
                     c.op,
                     attributes,
                     stream.get(),
                     products,
                     attention});
  stream.wait();

  const int64_t periods = seq_of(types[0]) / kPeriod, bytes = types[0].bytes() / periods;
  ASSERT_GT(std::max(types[0].num_elements(), c.operands[0].num_elements()), int64_t{1} << 31);
  const std::vector<std::byte> first = period(*result_memory[0], bytes, 0);
  EXPECT_NE(first, std::vector<std::byte>(first.size()));
  for (const int64_t which : {periods / 2, periods - 2, periods - 1})
    EXPECT_TRUE(period(*result_memory[0], bytes, which) == first) << "period " << which;
}

INSTANTIATE_TEST_SUITE_P(Kernels, LongSequences,
                         testing::Values(OpKind::add, OpKind::swiglu, OpKind::swiglu_grad,
                                         OpKind::rms_norm, OpKind::rope, OpKind::embedding,
                                         OpKind::matmul),
                         [](const auto& each) { return std::string(op_def(each.param).name); });

}  // namespace
}  // namespace tessera
