// SPDX-License-Identifier: Apache-2.0
#define HWY_TARGET_INCLUDE "exec/cpu/vector_math_test.cpp"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "exec/cpu/each_target.h"
#include "exec/cpu/fast_math.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

CpuTarget compiled_for() {
  if (HWY_TARGET == HWY_AVX3) return CpuTarget::Avx512;
  return HWY_TARGET == HWY_AVX2 ? CpuTarget::Avx2 : CpuTarget::Base;
}

// As numbers and as lanes: a loop that the compiler vectorises must agree with explicit vectors.
void exp_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_exp(x[i]);
}
void exp_lanes(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) store_lanes(y + i, fast_exp(load_lanes(x + i)));
}
void tanh_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_tanh(x[i]);
}
void tanh_lanes(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) store_lanes(y + i, fast_tanh(load_lanes(x + i)));
}
void erf_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_erf(x[i]);
}
void erf_lanes(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) store_lanes(y + i, fast_erf(load_lanes(x + i)));
}
void sigmoid_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_sigmoid(x[i]);
}

// The sum and the largest of 16 floats and 8 doubles.
void fold_all(const float* x, const double* wide, double* folded) {
  folded[0] = sum_lanes(load_lanes(x)), folded[1] = max_lanes(load_lanes(x));
  folded[2] = sum_lanes(load_lanes(wide)), folded[3] = max_lanes(load_lanes(wide));
}
void double_halves(const Bf16* x, Bf16* y) { store_lanes(y, load_lanes(x) * 2.0f); }
void widen_halves(const Bf16* x, double* y) { store_lanes(y, load_lanes_as<double>(x)); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Vectorised = void (*)(const float*, float*, int64_t);

double relative_error(Vectorised f, double (*exact)(double), float low, float high) {
  constexpr int64_t kCount = 1 << 16;
  std::vector<float> x(kCount), y(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    x[i] = low + (high - low) * (static_cast<float>(i) + 0.5f) / static_cast<float>(kCount);
  f(x.data(), y.data(), kCount);
  double worst = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double error = std::abs(y[i] / exact(x[i]) - 1);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

class VectorMath : public testing::TestWithParam<CpuTarget> {};
INSTANTIATE_TEST_SUITE_P(Targets, VectorMath, testing::ValuesIn(available_cpu_targets()),
                         [](const auto& instance) { return std::string(name(instance.param)); });

#define VERSION(function) TESSERA_VERSION_FOR(GetParam(), function)

TEST_P(VectorMath, IsAccurateToAFewUnitsInTheLastPlace) {
  EXPECT_LE(relative_error(VERSION(exp_all), std::exp, -86.6f, 88.7f), 2e-7);
  EXPECT_LE(relative_error(VERSION(exp_lanes), std::exp, -86.6f, 88.7f), 2e-7);
  EXPECT_LE(relative_error(VERSION(tanh_all), std::tanh, -12.0f, 12.0f), 3e-7);
  EXPECT_LE(relative_error(VERSION(tanh_all), std::tanh, -0.01f, 0.01f), 3e-7);
  EXPECT_LE(relative_error(VERSION(tanh_lanes), std::tanh, -12.0f, 12.0f), 3e-7);
  EXPECT_LE(relative_error(VERSION(erf_lanes), std::erf, -6.0f, 6.0f), 3e-7);
  EXPECT_LE(relative_error(VERSION(erf_all), std::erf, -6.0f, 6.0f), 3e-7);
  EXPECT_LE(relative_error(VERSION(erf_all), std::erf, -0.01f, 0.01f), 3e-7);
  EXPECT_LE(
      relative_error(
          VERSION(sigmoid_all), [](double x) { return 1 / (1 + std::exp(-x)); }, -80.0f, 80.0f),
      4e-7);
}

TEST_P(VectorMath, KeepsLimitsAndNan) {
  std::vector<float> x(16, 0.0f), y(16);
  x[0] = -kInfinity, x[1] = kInfinity, x[2] = kNan, x[3] = -1000.0f, x[4] = 1000.0f;
  VERSION(exp_lanes)(x.data(), y.data(), 16);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], kInfinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0.0f);
  EXPECT_EQ(y[4], kInfinity);
  EXPECT_EQ(y[5], 1.0f);
  for (const Vectorised f :
       {VERSION(tanh_all), VERSION(tanh_lanes), VERSION(erf_all), VERSION(erf_lanes)}) {
    f(x.data(), y.data(), 16);
    EXPECT_EQ(y[0], -1.0f);
    EXPECT_EQ(y[1], 1.0f);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[5], 0.0f);
  }
}

TEST_P(VectorMath, LanesFoldInTheSameOrderOnEverySet) {
  std::vector<float> x(16);
  std::vector<double> wide(8), folded(4), base(4);
  for (size_t i = 0; i < 16; ++i) x[i] = static_cast<float>((i * 7) % 16);
  for (size_t i = 0; i < 8; ++i) wide[i] = static_cast<double>((i * 3) % 8) - 10;
  VERSION(fold_all)(x.data(), wide.data(), folded.data());
  EXPECT_EQ(folded, (std::vector<double>{120, 15, -52, -3}));
  // Sums that depend on their order.
  for (size_t i = 0; i < 16; ++i) x[i] = 1 / static_cast<float>(i + 3);
  for (size_t i = 0; i < 8; ++i) wide[i] = 1 / static_cast<double>(i + 3);
  VERSION(fold_all)(x.data(), wide.data(), folded.data());
  TESSERA_VERSION_FOR(CpuTarget::Base, fold_all)(x.data(), wide.data(), base.data());
  EXPECT_EQ(folded, base);
}

TEST_P(VectorMath, LanesWidenAndNarrowBf16) {
  std::vector<Bf16> from(16), to(16);
  std::vector<double> wide(8);
  for (size_t i = 0; i < 16; ++i) from[i] = to_bf16(static_cast<float>(i) - 7.5f);
  VERSION(double_halves)(from.data(), to.data());
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(to_float(to[i]), 2 * to_float(from[i]));
  VERSION(widen_halves)(from.data(), wide.data());
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(wide[i], to_float(from[i]));
}

TEST(CpuTarget, RunsTheVersionOfItsOwnInstructionSet) {
  EXPECT_EQ(TESSERA_VERSION(compiled_for)(), std::min(cpu_target(), CpuTarget::Avx512));
  for (const CpuTarget target : available_cpu_targets())
    EXPECT_EQ(TESSERA_VERSION_FOR(target, compiled_for)(), std::min(target, CpuTarget::Avx512));
}

}  // namespace
}  // namespace tessera
#endif
