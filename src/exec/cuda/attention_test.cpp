// SPDX-License-Identifier: Apache-2.0
// Which way attention takes on a GPU; that its results are right is checked with all other ops'.
#include <gtest/gtest.h>

#include <cmath>

#include "exec/cuda/matrix_products.h"
#include "exec/cuda/tensor_map.h"
#include "exec/cuda/testing/run_on_gpu.h"
#include "exec/device.h"
#include "ir/op_list.h"
#include "ops/attention/attention_cuda.h"
#include "ops/attention/attention_operands_samples.h"

namespace tessera {
namespace {

class GpuAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
  AttentionPath path(const AttentionCase& c, DType dtype) {
    return path(sample_call(OpKind::attention, attention_sample(c), dtype));
  }
  AttentionPath grad_path(const AttentionCase& c, DType dtype) {
    return path(sample_call(OpKind::attention_grad, attention_grad_sample(c), dtype));
  }

 private:
  AttentionPath path(const SampleCall& call) {
    std::vector<TensorRef> operands;
    for (const TensorType& type : call.operand_types) operands.push_back({&type, nullptr});
    MatrixProducts products;
    const CudaCall asked{{.operands = operands, .results = {}},
                         call.op,
                         call.attributes,
                         nullptr,
                         products,
                         attention_,
                         is_plain_causal(call)};
    return attention_path(asked);
  }
  CausalAttention attention_;
};

AttentionCase case_named(const std::string& name) {
  for (const AttentionCase& c : tensor_core_cases())
    if (c.name == name) return c;
  check_failed("a case", __FILE__, __LINE__, name);
}

TEST_F(GpuAttention, GradientsAreOursOnHopperWhateverTheMask) {
  if (!is_hopper()) GTEST_SKIP() << "this GPU is not of compute capability 9.0";
  for (const AttentionCase& c : tensor_core_cases())
    EXPECT_EQ(grad_path(c, DType::Bf16), AttentionPath::Hopper) << c.name;
  EXPECT_EQ(grad_path(case_named("causal_64"), DType::Fp32), AttentionPath::PlainCores);
}

TEST_F(GpuAttention, IsCudnnsWhereEveryQuerySeesTheKeysUpToItsOwn) {
  for (const char* name : {"causal_64", "causal_64_grouped", "causal_128_grouped"})
    EXPECT_EQ(path(case_named(name), DType::Bf16), AttentionPath::Cudnn) << name;
}

TEST_F(GpuAttention, IsOursOnTensorCoresForOtherMasksAndLengths) {
  for (const char* name : {"odd_length_64", "documents_64", "documents_128", "backwards_64",
                           "keys_of_another_rank_64"})
    EXPECT_EQ(path(case_named(name), DType::Bf16), AttentionPath::TensorCores) << name;
}

TEST_F(GpuAttention, IsPlainForOtherTypesAndHeads) {
  EXPECT_EQ(path(case_named("causal_64"), DType::Fp32), AttentionPath::PlainCores);
  AttentionCase other_head = case_named("causal_64");
  other_head.e = 80;
  EXPECT_EQ(path(other_head, DType::Bf16), AttentionPath::PlainCores);
}

TEST_F(GpuAttention, ARowThatSeesNoKeyGivesZeros) {
  AttentionCase c = case_named("documents_64");
  c.document = [](int64_t t) { return t == 100 ? 9.0 : 1.0; };
  c.key_document = [](int64_t) { return 1.0; };
  c.key_position = c.position;
  const auto results = run_on_gpu(sample_call(OpKind::attention, attention_sample(c), DType::Bf16));
  const int64_t heads = c.kv_heads * c.group, row = 100 * heads;
  EXPECT_EQ(results[1].at(row), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(results[1].at(row + heads)));
  for (int64_t i = 0; i < c.e; ++i) EXPECT_EQ(results[0].at(row * c.e + i), 0);
}

}  // namespace
}  // namespace tessera
