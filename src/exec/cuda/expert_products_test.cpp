// SPDX-License-Identifier: Apache-2.0
// Products of experts' rows on a GPU: what is not an expert's own must not reach its results.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "exec/cuda/testing/run_on_gpu.h"
#include "exec/device.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

constexpr int64_t kExperts = 4, kSlots = 75, kRows = kExperts * kSlots, kWidth = 136, kInner = 264;
constexpr std::array<int64_t, kExperts> kEnds = {41, 41, 203, 290};  // the second has no rows
constexpr int64_t kUsed = kEnds.back();

class GpuExperts : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

// Rows in [begin, end) hold `poison`.
SampleOperand rows_of(const char* dim, int64_t width, int64_t begin, int64_t end, double poison) {
  return {.type = {DType::Fp64, {{"expert", kExperts}, {"slot", kSlots}, {dim, width}}},
          .fill = [=](int64_t i, double u) {
            return i / width >= begin && i / width < end ? poison : 2 * u - 1;
          }};
}
SampleOperand ends() {
  return {.type = {DType::Int32, {{"expert", kExperts}}},
          .fill = [](int64_t e, double) { return kEnds[static_cast<size_t>(e)]; }};
}
SampleOperand weights(bool turned) {
  const Dim d{"d", kWidth}, mlp{"expert_mlp", kInner}, expert{"expert", kExperts};
  return {.type = {DType::Fp64, turned ? Dims{expert, mlp, d} : Dims{expert, d, mlp}}};
}
OpSample gradient_sample(int64_t begin, int64_t end, double poison) {
  return {.name = "rows",
          .operands = {rows_of("d", kWidth, begin, end, poison),
                       rows_of("expert_mlp", kInner, begin, end, poison), ends()}};
}

void expect_close(const HostTensor& got, const HostTensor& exact, int64_t count, DType dtype) {
  double largest = 0, error = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(exact.at(i)));
    const double off = std::abs(got.at(i) - exact.at(i));
    error = std::isfinite(off) ? std::max(error, off) : off;
  }
  EXPECT_LE(error, (dtype == DType::Bf16 ? 1e-2 : 1e-5) * largest);
}

TEST_P(GpuExperts, RowsAfterTheLastEndAreNeitherReadNorWritten) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const bool turned : {false, true}) {
    const OpSample sample{
        .name = "spare",
        .operands = {rows_of("d", kWidth, kUsed, kRows, kNan), weights(turned), ends()}};
    const SampleCall call = sample_call(OpKind::expert_matmul, sample, GetParam());
    const HostTensor y = run_on_gpu(call)[0];
    expect_close(y, run_kernel(exact_call(OpKind::expert_matmul, sample, call))[0], kUsed * kInner,
                 GetParam());
    for (int64_t i = kUsed * kInner; i < y.size(); ++i) ASSERT_TRUE(std::isnan(y.at(i))) << i;
  }
}

TEST_P(GpuExperts, WeightGradientsSumTheirOwnRowsAlone) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const SampleCall clean =
      sample_call(OpKind::expert_matmul_dw, gradient_sample(kUsed, kRows, kInf), GetParam());
  const HostTensor dw = run_on_gpu(clean)[0];
  const OpSample without_poison = gradient_sample(kUsed, kRows, 0);
  const SampleCall same = sample_call(OpKind::expert_matmul_dw, without_poison, GetParam());
  expect_close(dw, run_kernel(exact_call(OpKind::expert_matmul_dw, without_poison, same))[0],
               dw.size(), GetParam());
  // The third expert's rows spoil its own gradient and no other.
  const HostTensor spoilt = run_on_gpu(sample_call(
      OpKind::expert_matmul_dw, gradient_sample(kEnds[1], kEnds[2], kInf), GetParam()))[0];
  for (int64_t i = 0; i < dw.size(); ++i) {
    const bool third = i / (kWidth * kInner) == 2;
    ASSERT_EQ(third, !std::isfinite(spoilt.at(i))) << i;
    if (!third) {
      ASSERT_EQ(spoilt.at(i), dw.at(i)) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, GpuExperts, testing::Values(DType::Fp64, DType::Fp32, DType::Bf16),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tessera
