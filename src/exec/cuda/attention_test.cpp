// SPDX-License-Identifier: Apache-2.0
// Which way attention takes on a GPU; that its results are right is checked with all other ops'.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "exec/cuda/causal_attention.h"
#include "exec/cuda/matrix_products.h"
#include "exec/cuda/tensor_map.h"
#include "exec/cuda/testing/run_on_gpu.h"
#include "exec/device.h"
#include "ir/op_list.h"
#include "ops/attention/attention_operands_samples.h"

namespace tessera {
namespace {

using Paths = std::vector<AttentionPath>;

bool has(const Paths& paths, AttentionPath path) { return std::ranges::count(paths, path) > 0; }

class GpuAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
  static Paths paths(const AttentionCase& c, DType dtype) {
    return paths_of(sample_call(OpKind::attention, attention_sample(c), dtype));
  }
  static Paths grad_paths(const AttentionCase& c, DType dtype) {
    return paths_of(sample_call(OpKind::attention_grad, attention_grad_sample(c), dtype));
  }
};

AttentionCase case_named(const std::string& name) {
  for (const AttentionCase& c : tensor_core_cases())
    if (c.name == name) return c;
  check_failed("a case", __FILE__, __LINE__, name);
}

TEST_F(GpuAttention, OnHopperOursTakesEveryMask) {
  if (!is_hopper()) GTEST_SKIP() << "this GPU is not of compute capability 9.0";
  for (const AttentionCase& c : tensor_core_cases()) {
    EXPECT_EQ(paths(c, DType::Bf16).front(), AttentionPath::Hopper) << c.name;
    EXPECT_EQ(grad_paths(c, DType::Bf16).front(), AttentionPath::Hopper) << c.name;
  }
  for (const AttentionCase& c : latent_attention_cases()) {
    EXPECT_EQ(paths(c, DType::Bf16), Paths{AttentionPath::Hopper}) << c.name;
    EXPECT_EQ(grad_paths(c, DType::Bf16), Paths{AttentionPath::Hopper}) << c.name;
  }
}

TEST_F(GpuAttention, MayBeCudnnsOnlyWhereEveryQuerySeesTheKeysUpToItsOwn) {
  for (const char* name : {"causal_64", "causal_64_grouped", "causal_128_grouped"})
    EXPECT_TRUE(has(paths(case_named(name), DType::Bf16), AttentionPath::Cudnn)) << name;
  for (const char* name : {"odd_length_64", "documents_64", "documents_128", "backwards_64",
                           "keys_of_another_rank_64"}) {
    EXPECT_FALSE(has(paths(case_named(name), DType::Bf16), AttentionPath::Cudnn)) << name;
    EXPECT_TRUE(has(paths(case_named(name), DType::Bf16), AttentionPath::TensorCores)) << name;
  }
}

// Its workspace would grow with the square of the length.
TEST_F(GpuAttention, LongGradientsAreNotCudnnsWhereOursTakesThem) {
  if (!is_hopper()) GTEST_SKIP() << "this GPU is not of compute capability 9.0";
  AttentionCase c = case_named("causal_64_grouped");
  EXPECT_TRUE(has(grad_paths(c, DType::Bf16), AttentionPath::Cudnn));
  c.seq = 8192;
  EXPECT_FALSE(has(grad_paths(c, DType::Bf16), AttentionPath::Cudnn));
}

TEST_F(GpuAttention, IsPlainForOtherTypesAndHeads) {
  const Paths plain{AttentionPath::PlainCores};
  EXPECT_EQ(paths(case_named("causal_64"), DType::Fp32), plain);
  EXPECT_EQ(grad_paths(case_named("causal_64"), DType::Fp32), plain);
  AttentionCase other_head = case_named("causal_64");
  other_head.e = 80;
  EXPECT_EQ(paths(other_head, DType::Bf16), plain);
  AttentionCase wide = case_named("causal_64"), narrow = case_named("causal_128_grouped");
  wide.value_e = 128;
  narrow.value_e = 64;
  for (const AttentionCase& c : {wide, narrow}) {
    EXPECT_EQ(paths(c, DType::Bf16), plain) << c.name;
    EXPECT_EQ(grad_paths(c, DType::Bf16), plain) << c.name;
  }
}

// Conformance sees the fastest alone.
TEST_F(GpuAttention, EveryPathThatACallMayTakeMatchesFp64) {
  for (const auto& of : {tensor_core_cases(), latent_attention_cases()})
    for (const AttentionCase& c : of)
      for (const bool forward : {true, false}) {
        const OpKind op = forward ? OpKind::attention : OpKind::attention_grad;
        const OpSample sample = forward ? attention_sample(c) : attention_grad_sample(c);
        const SampleCall rounded = sample_call(op, sample, DType::Bf16);
        const auto exact = run_on_gpu(exact_call(op, sample, rounded));
        for (const AttentionPath path : paths_of(rounded)) {
          const auto results = run_on_gpu(rounded, {}, path);
          for (size_t i = 0; i < results.size(); ++i)
            EXPECT_LE(relative_error(results[i], exact[i]), sample.tolerance_bf16)
                << c.name << ", path " << static_cast<int>(path) << ", result " << i;
        }
      }
}

TEST_F(GpuAttention, AShapeIsMeasuredOnceAndItsChoiceKept) {
  const SampleCall call =
      sample_call(OpKind::attention, attention_sample(case_named("documents_64")), DType::Bf16);
  const Paths candidates = paths_of(call);
  if (candidates.size() < 2) GTEST_SKIP() << "one implementation alone takes the call on this GPU";
  const auto folder = std::filesystem::path(testing::TempDir()) / "tessera_attention_choices";
  std::filesystem::remove_all(folder);
  MatrixProducts products{AlgorithmFile(folder / "choices")};
  CausalAttention attention;
  const DeviceStream stream;
  std::vector<TensorRef> operands;
  for (const TensorType& type : call.operand_types) operands.push_back({&type, nullptr});
  const CudaCall asked{{.operands = operands, .results = {}},
                       call.op,
                       call.attributes,
                       stream.get(),
                       products,
                       attention};
  Paths first, second;
  run_fastest_attention(asked, [&](AttentionPath path) { first.push_back(path); });
  run_fastest_attention(asked, [&](AttentionPath path) { second.push_back(path); });
  for (const AttentionPath path : candidates) EXPECT_TRUE(has(first, path));
  EXPECT_EQ(second, Paths{first.back()});
  MatrixProducts later{AlgorithmFile(folder / "choices")};
  const CudaCall again{{.operands = operands, .results = {}},
                       call.op,
                       call.attributes,
                       stream.get(),
                       later,
                       attention};
  Paths third;
  run_fastest_attention(again, [&](AttentionPath path) { third.push_back(path); });
  EXPECT_EQ(third, Paths{first.back()});
}

TEST_F(GpuAttention, ARowThatSeesNoKeyGivesZeros) {
  AttentionCase c = case_named("documents_64");
  c.document = [](int64_t t) { return t == 100 ? 9.0 : 1.0; };
  c.key_document = [](int64_t) { return 1.0; };
  c.key_position = c.position;
  const SampleCall call = sample_call(OpKind::attention, attention_sample(c), DType::Bf16);
  const int64_t heads = c.kv_heads * c.group, row = 100 * heads;
  for (const AttentionPath path : paths_of(call)) {
    const auto results = run_on_gpu(call, {}, path);
    EXPECT_EQ(results[1].at(row), -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isfinite(results[1].at(row + heads)));
    for (int64_t i = 0; i < c.e; ++i) EXPECT_EQ(results[0].at(row * c.e + i), 0);
  }
}

}  // namespace
}  // namespace tessera
