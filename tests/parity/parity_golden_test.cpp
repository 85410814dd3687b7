// SPDX-License-Identifier: Apache-2.0
// Ten steps against numbers that PyTorch gave in fp64 (oracle.py --update wrote them).
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "parity/parity_run.h"

namespace tessera {
namespace {

struct Tolerance {
  DType dtype;
  double losses;     // relative
  double gradients;  // of a tensor's largest entry, or of a hundredth of the largest of all
};
constexpr Tolerance kFp32{DType::Fp32, 1e-5, 1e-4};
constexpr Tolerance kFp64{DType::Fp64, 1e-9, 1e-9};

nlohmann::json read_golden(std::string_view name) {
  const std::string path = fmt::format("{}/{}.json", TESSERA_PARITY_GOLDEN, name);
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return nlohmann::json::parse(file);
}

std::vector<double> values_of(const NamedTensor& tensor) {
  std::vector<double> values;
  dispatch_float(tensor.type.dtype, [&]<typename T>() {
    const auto* in = reinterpret_cast<const T*>(tensor.bytes.data());
    for (int64_t i = 0; i < tensor.type.num_elements(); ++i)
      values.push_back(static_cast<double>(load(in[i])));
  });
  return values;
}

void expect_rows_equal(const std::vector<double>& ours, const nlohmann::json& golden,
                       double tolerance) {
  ASSERT_EQ(ours.size(), golden.size());
  for (size_t step = 0; step < ours.size(); ++step) {
    const double expected = golden[step];
    EXPECT_NEAR(ours[step], expected, tolerance * std::abs(expected)) << "step " << step;
  }
}

void expect_gradient_equal(const NamedTensor& gradient, const nlohmann::json& golden,
                           double allowed) {
  const std::vector<double> values = values_of(gradient);
  double largest = 0, sum = 0;
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
    sum += value;
  }
  EXPECT_NEAR(largest, golden["max_abs"], allowed) << gradient.name;
  EXPECT_NEAR(sum, golden["sum"], allowed * static_cast<double>(values.size())) << gradient.name;
  for (const auto& probe : golden["probes"])
    EXPECT_NEAR(values.at(probe[0]), probe[1], allowed) << gradient.name << " at " << probe[0];
}

void PrintTo(const Tolerance& tolerance, std::ostream* out) { *out << name(tolerance.dtype); }

class ParityGolden : public testing::TestWithParam<std::tuple<ParityCase, Tolerance>> {};

TEST_P(ParityGolden, TenStepsGiveTheNumbersOfPyTorch) {
  const auto& [parity_case, tolerance] = GetParam();
  const nlohmann::json golden = read_golden(parity_case.name);
  const ParityRun run = run_parity(parity_case, tolerance.dtype, {.threads = 2});
  expect_rows_equal(run.losses, golden["losses"], tolerance.losses);
  expect_rows_equal(run.gradient_norms, golden["gradient_norms"], tolerance.gradients);

  double largest = 0;
  for (const auto& entry : golden["gradients"])
    largest = std::max(largest, entry["max_abs"].get<double>());
  ASSERT_EQ(run.gradients.size(), golden["gradients"].size());
  for (const NamedTensor& gradient : run.gradients) {
    ASSERT_TRUE(golden["gradients"].contains(gradient.name)) << gradient.name;
    const nlohmann::json& entry = golden["gradients"][gradient.name];
    const double scale = std::max(entry["max_abs"].get<double>(), 0.01 * largest);
    expect_gradient_equal(gradient, entry, tolerance.gradients * scale);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ParityGolden,
                         testing::Combine(testing::ValuesIn(parity_cases().begin(),
                                                            parity_cases().end()),
                                          testing::Values(kFp32, kFp64)),
                         [](const auto& instance) {
                           return fmt::format("{}_{}", std::get<0>(instance.param).name,
                                              name(std::get<1>(instance.param).dtype));
                         });

class ParityRuns : public testing::TestWithParam<ParityCase> {};

void expect_same_bits(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].bytes, b[i].bytes) << a[i].name;
}

TEST_P(ParityRuns, OneAndTwoThreadsGiveTheSameBits) {
  const ParityRun one = run_parity(GetParam(), DType::Fp32, {.threads = 1});
  const ParityRun two = run_parity(GetParam(), DType::Fp32, {.threads = 2});
  EXPECT_EQ(one.losses, two.losses);
  EXPECT_EQ(one.gradient_norms, two.gradient_norms);
  expect_same_bits(one.gradients, two.gradients);
  expect_same_bits(one.final_weights, two.final_weights);
}

// Rounding weights and activations to eight bits moved these losses by 0.3 % at most.
TEST_P(ParityRuns, Bf16StaysNearPyTorchInFp64) {
  const ParityRun run = run_parity(GetParam(), DType::Bf16, {.threads = 2});
  expect_rows_equal(run.losses, read_golden(GetParam().name)["losses"], 0.01);
}

INSTANTIATE_TEST_SUITE_P(Cases, ParityRuns,
                         testing::ValuesIn(parity_cases().begin(), parity_cases().end()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace tessera
