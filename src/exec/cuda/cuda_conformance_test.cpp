// SPDX-License-Identifier: Apache-2.0
// Every sample of every op that has a CUDA kernel, against the CPU's result in fp64.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/narrow_floats.h"
#include "exec/cuda/cuda_call.h"
#include "exec/cuda/testing/gpu_samples.h"
#include "exec/cuda/testing/run_on_gpu.h"
#include "exec/device.h"
#include "ir/op_list.h"
#include "ops/attention/attention_operands_samples.h"
#include "ops/loss/logit_chunks_cuda.h"
#include "ops/loss/output_loss_samples.h"
#include "ops/testing/conformance_case.h"

namespace tessera {
namespace {

constexpr DType kDtypes[] = {DType::Fp64, DType::Fp32, DType::Bf16};

// Tensor cores keep about 14 bits of a sum of products of 8-bit floats.
constexpr double kFp8Tolerance = 5e-4;

double tolerance(const ConformanceCase& tested, DType compute, DType result) {
  const OpSample& sample = tested.sample;
  if (compute == DType::Bf16 || result == DType::Bf16) return sample.tolerance_bf16;
  if (compute != DType::Fp32 && result != DType::Fp32) return 1e-12;
  const bool fp8 = std::ranges::any_of(sample.operands, [](const SampleOperand& operand) {
    return fp8_from_dtype(operand.type.dtype).has_value();
  });
  return fp8 ? kFp8Tolerance : sample.tolerance_fp32;
}

class GpuOp : public testing::TestWithParam<ConformanceCase> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
  const OpSample& sample() const { return GetParam().sample; }
  const OpDef& def() const { return op_def(GetParam().op); }
  SampleCall call(DType compute) const { return sample_call(GetParam().op, sample(), compute); }
};
class GpuAccumulatingOp : public GpuOp {};
class GpuInPlaceOp : public GpuOp {};

TEST_P(GpuOp, MatchesTheCpuInFp64) {
  for (const DType dtype : kDtypes) {
    SCOPED_TRACE(name(dtype));
    const SampleCall rounded = call(dtype);
    const auto results = run_on_gpu(rounded);
    const auto exact = run_kernel(exact_call(GetParam().op, sample(), rounded));
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].first_unwritten(), -1) << "result " << i;
      EXPECT_LE(relative_error(results[i], exact[i]),
                tolerance(GetParam(), dtype, results[i].type().dtype))
          << "result " << i << " " << to_string(results[i].type());
    }
  }
}

TEST_P(GpuOp, RepeatsItsBitsWhateverTheWorkspaceHolds) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const auto once = run_on_gpu(sampled, {.workspace_fill = std::byte{0xff}});
    const auto again = run_on_gpu(sampled, {.workspace_fill = std::byte{0x3c}});
    for (size_t i = 0; i < once.size(); ++i)
      EXPECT_TRUE(again[i].same_bits(once[i])) << name(dtype) << ", result " << i;
  }
}

TEST_P(GpuAccumulatingOp, AccumulateAddsToWhatWasThere) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const auto fresh = run_on_gpu(sampled);
    const AddingRun adding = adding_run(GetParam().op, fresh);
    const auto sums = run_on_gpu(sampled, adding.run);
    for (size_t i = 0; i < fresh.size(); ++i)
      EXPECT_LE(relative_error(sums[i], adding.expected[i]),
                tolerance(GetParam(), dtype, sums[i].type().dtype))
          << name(dtype) << ", result " << i;
  }
}

TEST_P(GpuInPlaceOp, InPlaceChangesNothing) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const auto apart = run_on_gpu(sampled);
    for (const InPlace& pair : def().in_place) {
      if (pair.result >= sampled.result_types.size() ||
          sampled.operand_types[pair.operand] != sampled.result_types[pair.result])
        continue;  // a result that the sample leaves out
      const auto over = run_on_gpu(sampled, {.in_place = {pair}});
      for (size_t i = 0; i < apart.size(); ++i)
        EXPECT_TRUE(over[i].same_bits(apart[i]))
            << name(dtype) << ", result " << i << " with result " << pair.result << " over operand "
            << pair.operand;
    }
  }
}

// The ops' own samples, and those for the GPU alone.
std::vector<ConformanceCase> gpu_cases(bool (*wanted)(const ConformanceCase&)) {
  std::vector<ConformanceCase> cases = conformance_cases(wanted);
  for (ConformanceCase& c : gpu_samples())
    if (wanted(c)) cases.push_back(std::move(c));
  return cases;
}

bool runs(const ConformanceCase& c) { return has_cuda_kernel(c.op); }
bool accumulates(const ConformanceCase& c) { return runs(c) && !op_def(c.op).accumulates.empty(); }
bool works_in_place(const ConformanceCase& c) { return runs(c) && !op_def(c.op).in_place.empty(); }

std::vector<ConformanceCase> tensor_core_attention() {
  std::vector<ConformanceCase> cases;
  for (const auto& of : {tensor_core_cases(), latent_attention_cases()})
    for (const AttentionCase& c : of) {
      cases.push_back({OpKind::attention, attention_sample(c)});
      cases.push_back({OpKind::attention_grad, attention_grad_sample(c)});
    }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(GpuConformance, GpuOp, testing::ValuesIn(gpu_cases(runs)), case_name);
INSTANTIATE_TEST_SUITE_P(GpuConformanceOnTensorCores, GpuOp,
                         testing::ValuesIn(tensor_core_attention()), case_name);
INSTANTIATE_TEST_SUITE_P(GpuConformance, GpuAccumulatingOp,
                         testing::ValuesIn(gpu_cases(accumulates)), case_name);
INSTANTIATE_TEST_SUITE_P(GpuConformance, GpuInPlaceOp, testing::ValuesIn(gpu_cases(works_in_place)),
                         case_name);

// Enough logits for two chunks, in fp64 since it takes the fewest.
TEST(GpuHead, SeveralChunksMatchTheCpu) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  const OpSample sample{.name = "two_chunks",
                        .operands = output_loss_operands(1, 4099, 4, 65530, 7)};
  const SampleCall call = sample_call(OpKind::output_loss_grad, sample, DType::Fp64);
  const LogitChunks chunks(call.operand_types[0], call.operand_types[1]);
  ASSERT_EQ(chunks.chunk_rows, 4096);
  const auto results = run_on_gpu(call), expected = run_kernel(call);
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_LE(relative_error(results[i], expected[i]), 1e-12) << "result " << i;
}

TEST(GpuKernels, EveryOpThatHasOneOnTheCpuHasOne) {
  for (int i = 0; i < kNumOps; ++i) {
    const auto op = static_cast<OpKind>(i);
    EXPECT_EQ(has_cuda_kernel(op), cpu_kernel(op) != nullptr) << name(op);
  }
}

}  // namespace
}  // namespace tessera
