// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/simd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// As scalars and as lanes: a loop that the compiler vectorises must agree with explicit vectors.
TESSERA_SIMD void exp_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_exp(x[i]);
}
TESSERA_SIMD void exp_lanes(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) store_lanes(y + i, fast_exp(load_lanes(x + i)));
}
TESSERA_SIMD void tanh_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_tanh(x[i]);
}
TESSERA_SIMD void erf_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_erf(x[i]);
}
TESSERA_SIMD void sigmoid_all(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = fast_sigmoid(x[i]);
}

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

TEST(Simd, FastFunctionsAreAccurateToAFewUnitsInTheLastPlace) {
  EXPECT_LE(relative_error(exp_all, std::exp, -86.6f, 88.7f), 2e-7);
  EXPECT_LE(relative_error(exp_lanes, std::exp, -86.6f, 88.7f), 2e-7);
  EXPECT_LE(relative_error(tanh_all, std::tanh, -12.0f, 12.0f), 3e-7);
  EXPECT_LE(relative_error(tanh_all, std::tanh, -0.01f, 0.01f), 3e-7);
  EXPECT_LE(relative_error(erf_all, std::erf, -6.0f, 6.0f), 3e-7);
  EXPECT_LE(relative_error(erf_all, std::erf, -0.01f, 0.01f), 3e-7);
  EXPECT_LE(relative_error(
                sigmoid_all, [](double x) { return 1 / (1 + std::exp(-x)); }, -80.0f, 80.0f),
            4e-7);
}

TEST(Simd, FastFunctionsKeepLimitsAndNan) {
  std::vector<float> x(16, 0.0f), y(16);
  x[0] = -kInfinity, x[1] = kInfinity, x[2] = kNan, x[3] = -1000.0f, x[4] = 1000.0f;
  exp_lanes(x.data(), y.data(), 16);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], kInfinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0.0f);
  EXPECT_EQ(y[4], kInfinity);
  EXPECT_EQ(y[5], 1.0f);
  for (const Vectorised f : {tanh_all, erf_all}) {
    f(x.data(), y.data(), 16);
    EXPECT_EQ(y[0], -1.0f);
    EXPECT_EQ(y[1], 1.0f);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[5], 0.0f);
  }
}

TEST(Simd, LanesFoldWholeVectors) {
  Lanes<float> lanes;
  for (int i = 0; i < 16; ++i) lanes[i] = static_cast<float>((i * 7) % 16);
  EXPECT_EQ(sum_lanes<float>(lanes), 120.0f);
  EXPECT_EQ(max_lanes<float>(lanes), 15.0f);
  Lanes<double> wide;
  for (int i = 0; i < 8; ++i) wide[i] = static_cast<double>((i * 3) % 8) - 10;
  EXPECT_EQ(sum_lanes<double>(wide), -52.0);
  EXPECT_EQ(max_lanes<double>(wide), -3.0);
}

TEST(Simd, LanesWidenAndNarrowBf16) {
  Bf16 from[16], to[16];
  for (int i = 0; i < 16; ++i) from[i] = to_bf16(static_cast<float>(i) - 7.5f);
  store_lanes(to, load_lanes(from) * 2.0f);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(to_float(to[i]), 2 * (static_cast<float>(i) - 7.5f));
  const Lanes<float> some = load_some_lanes(from, 3, -1.0f);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(some[i], i < 3 ? static_cast<float>(i) - 7.5f : -1.0f);
}

}  // namespace
}  // namespace tessera
