// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/matrix_products.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include "exec/device.h"

namespace tessera {
namespace {

std::filesystem::path fresh_file(const char* name) {
  const auto path = std::filesystem::path(testing::TempDir()) / "tessera_algorithms" / name;
  std::filesystem::remove(path);
  return path;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AlgorithmFile, GivesBackWhatWasAddedByOthersToo) {
  const auto path = fresh_file("shared");
  AlgorithmFile one(path), other(path);
  one.add("a GPU: 2 x 3", {1, 2, 3, 4, 5, 6, 7, ~uint64_t{0}});
  other.add("a GPU: 4 x 5", {8, 7, 6, 5, 4, 3, 2, 1});
  const AlgorithmFile read(path);
  ASSERT_TRUE(read.find("a GPU: 2 x 3") && read.find("a GPU: 4 x 5"));
  EXPECT_EQ(read.find("a GPU: 2 x 3")->at(7), ~uint64_t{0});
  EXPECT_EQ(read.find("a GPU: 4 x 5")->at(0), 8u);
  EXPECT_EQ(read.find("a GPU: 2 x 4"), nullptr);
}

TEST(AlgorithmFile, LeavesOutLinesThatAreNotWhole) {
  const auto path = fresh_file("cut");
  AlgorithmFile(path).add("whole", {1, 2, 3, 4, 5, 6, 7, 8});
  std::ofstream(path, std::ios::app) << "0000 0001 cut\n\n0 0 0 0 0 0 0";
  const AlgorithmFile read(path);
  EXPECT_NE(read.find("whole"), nullptr);
  EXPECT_EQ(read.find("cut"), nullptr);
}

class GpuProducts : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

// Values that bf16 holds, so that the host knows the operands exactly.
std::vector<Bf16> made_values(int64_t count, uint64_t seed) {
  std::vector<Bf16> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = to_bf16(static_cast<float>((i * 2654435761u + seed) % 31) / 16.0f - 0.9375f);
  return values;
}

struct Layout {
  bool a_transposed, b_transposed;
  DType result;
  bool accumulate;
};

// A product of bf16 between rows of `stride` elements, on the GPU and in fp64 on the host.
class BothProducts {
 public:
  BothProducts(int64_t m, int64_t n, int64_t k, Layout layout)
      : m_(m),
        n_(n),
        k_(k),
        layout_(layout),
        a_(made_values((layout.a_transposed ? k : m) * kStride, 1)),
        b_(made_values((layout.b_transposed ? n : k) * kStride, 2)) {}

  std::vector<double> on_host(int64_t row, double before) const {
    std::vector<double> sums(static_cast<size_t>(n_), layout_.accumulate ? before : 0.0);
    for (int64_t p = 0; p < k_; ++p)
      for (int64_t j = 0; j < n_; ++j)
        sums[static_cast<size_t>(j)] +=
            at(a_, layout_.a_transposed, row, p) * at(b_, layout_.b_transposed, p, j);
    return sums;
  }

  std::vector<double> on_gpu(MatrixProducts& products, float before) const {
    const int64_t element = size_bytes(layout_.result), count = m_ * kStride;
    std::vector<float> start(static_cast<size_t>(count), before);
    std::vector<Bf16> start16(static_cast<size_t>(count), to_bf16(before));
    const DeviceMemory a(size(a_)), b(size(b_)), c(count * element);
    a.fill(std::as_bytes(std::span(a_)));
    b.fill(std::as_bytes(std::span(b_)));
    c.fill(element == 4 ? std::as_bytes(std::span(start)) : std::as_bytes(std::span(start16)));
    const DeviceStream stream;
    products.enqueue({.m = m_,
                      .n = n_,
                      .k = k_,
                      .dtype = DType::Bf16,
                      .result_dtype = layout_.result,
                      .a = {a.data(), kStride, layout_.a_transposed},
                      .b = {b.data(), kStride, layout_.b_transposed},
                      .c = c.data(),
                      .c_stride = kStride,
                      .accumulate = layout_.accumulate},
                     stream.get());
    stream.wait();
    std::vector<std::byte> bytes(static_cast<size_t>(count * element));
    check_cuda(cudaMemcpy(bytes.data(), c.data(), bytes.size(), cudaMemcpyDeviceToHost), "read");
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      float wide = 0;
      Bf16 narrow;
      if (element == 4)
        std::memcpy(&wide, &bytes[static_cast<size_t>(i) * 4], 4);
      else
        std::memcpy(&narrow, &bytes[static_cast<size_t>(i) * 2], 2), wide = load(narrow);
      values.push_back(wide);
    }
    return values;
  }

  static constexpr int64_t kStride = 1088;

 private:
  static int64_t size(const std::vector<Bf16>& values) {
    return static_cast<int64_t>(values.size() * sizeof(Bf16));
  }
  static double at(const std::vector<Bf16>& values, bool transposed, int64_t i, int64_t j) {
    return load(values[static_cast<size_t>(transposed ? j * kStride + i : i * kStride + j)]);
  }

  int64_t m_, n_, k_;
  Layout layout_;
  std::vector<Bf16> a_, b_;
};

// All of m, n and k are large and not multiples of eight: every way to split is taken.
TEST_F(GpuProducts, RaggedSizesMatchTheHost) {
  constexpr int64_t kM = 1031, kN = 1029, kK = 1027;
  MatrixProducts products{AlgorithmFile(fresh_file("ragged"))};
  for (const bool a_transposed : {false, true})
    for (const bool b_transposed : {false, true})
      for (const DType result : {DType::Bf16, DType::Fp32})
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {}", a_transposed, b_transposed, name(result), accumulate));
          const BothProducts both(kM, kN, kK, {a_transposed, b_transposed, result, accumulate});
          const auto values = both.on_gpu(products, 3);
          for (const int64_t row : {int64_t{0}, int64_t{517}, kM - 2, kM - 1}) {
            const auto expected = both.on_host(row, 3);
            const double* got = values.data() + row * BothProducts::kStride;
            double error = 0;
            for (int64_t j = 0; j < kN; ++j)
              error = std::max(error, std::abs(got[j] - expected[static_cast<size_t>(j)]));
            // Sums of up to 512; bf16 keeps eight bits of them, and rounds twice where k is split.
            EXPECT_LE(error, result == DType::Bf16 ? 2.0 : 1e-3) << "row " << row;
            EXPECT_EQ(got[kN], 3) << "wrote beyond row " << row;
          }
        }
}

double slope_of_gelu_tanh(double x) {
  constexpr double kScale = 0.79788456080286535588, kCubic = 0.044715;
  const double t = std::tanh(kScale * (x + kCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kScale * (1 + 3 * kCubic * x * x);
}

TEST_F(GpuProducts, TakeTheSlopeOfGeluAlongInBf16Alone) {
  constexpr int64_t kM = 128, kN = 256, kK = 64;
  const auto a = made_values(kM * kK, 1), b = made_values(kN * kK, 2), x = made_values(kM * kN, 3);
  const DeviceMemory first(kM * kK * 4), second(kN * kK * 4), before(kM * kN * 4), c(kM * kN * 4);
  first.fill(std::as_bytes(std::span(a)));
  second.fill(std::as_bytes(std::span(b)));
  before.fill(std::as_bytes(std::span(x)));
  MatrixProducts products{AlgorithmFile(fresh_file("slope"))};
  const DeviceStream stream;
  DeviceProduct product{.m = kM,
                        .n = kN,
                        .k = kK,
                        .dtype = DType::Bf16,
                        .result_dtype = DType::Bf16,
                        .a = {first.data(), kK},
                        .b = {second.data(), kK, true},
                        .c = c.data(),
                        .c_stride = kN,
                        .activation = EpilogueActivation::GeluTanhGrad,
                        .before = before.data()};
  ASSERT_TRUE(products.try_enqueue(product, stream.get()));
  stream.wait();
  std::vector<Bf16> got(kM * kN);
  check_cuda(cudaMemcpy(got.data(), c.data(), got.size() * 2, cudaMemcpyDeviceToHost), "read");
  for (size_t i = 0; i < got.size(); ++i) {
    double sum = 0;
    for (size_t p = 0; p < kK; ++p) sum += load(a[i / kN * kK + p]) * load(b[i % kN * kK + p]);
    const double expected = sum * slope_of_gelu_tanh(load(x[i]));
    ASSERT_NEAR(load(got[i]), expected, 1e-4 + std::abs(expected) / 128) << "element " << i;
  }
  product.dtype = product.result_dtype = DType::Fp32;
  EXPECT_FALSE(products.try_enqueue(product, stream.get()));
}

struct Fp8Operand {
  std::vector<uint8_t> bytes;
  std::vector<double> values;
};

// Small numbers that either format holds, so that sums are exact.
Fp8Operand made_fp8(Fp8 format, size_t count, uint64_t seed) {
  constexpr std::array kValues{0.5, 1.0, 1.5, 2.0};
  constexpr std::array<uint8_t, 4> kE4M3{0x30, 0x38, 0x3c, 0x40}, kE5M2{0x38, 0x3c, 0x3e, 0x40};
  Fp8Operand made;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t mixed = (i * 2654435761u + seed) >> 7;
    const size_t which = mixed % 4;
    const bool negative = mixed / 4 % 2 != 0;
    made.bytes.push_back(
        static_cast<uint8_t>((format == Fp8::E4m3 ? kE4M3 : kE5M2)[which] | (negative ? 0x80 : 0)));
    made.values.push_back(negative ? -kValues[which] : kValues[which]);
  }
  return made;
}

TEST_F(GpuProducts, OfFp8ScaleBothOperands) {
  constexpr int64_t kM = 128, kN = 64, kK = 256;
  constexpr std::array kScales{2.0f, 0.0f, 0.0f, 0.0f, 0.125f};  // 16 bytes apart
  const DeviceMemory scales(sizeof kScales), a(kM * kK), b(kN * kK), c(kM * kN * 4);
  scales.fill(std::as_bytes(std::span(kScales)));
  const auto* scale = reinterpret_cast<const float*>(scales.data());
  MatrixProducts products{AlgorithmFile(fresh_file("fp8"))};
  const DeviceStream stream;
  for (const Fp8 format : {Fp8::E4m3, Fp8::E5m2}) {
    const Fp8Operand x = made_fp8(format, kM * kK, 1), w = made_fp8(Fp8::E4m3, kN * kK, 2);
    a.fill(std::as_bytes(std::span(x.bytes)));
    b.fill(std::as_bytes(std::span(w.bytes)));
    products.enqueue({.m = kM,
                      .n = kN,
                      .k = kK,
                      .dtype = DType::Bf16,
                      .result_dtype = DType::Fp32,
                      .a = {a.data(), kK, false, format, scale},
                      .b = {b.data(), kK, true, Fp8::E4m3, scale + 4},
                      .c = c.data(),
                      .c_stride = kN},
                     stream.get());
    stream.wait();
    std::vector<float> got(kM * kN);
    check_cuda(cudaMemcpy(got.data(), c.data(), got.size() * 4, cudaMemcpyDeviceToHost), "read");
    for (size_t i = 0; i < got.size(); ++i) {
      double sum = 0;
      for (size_t p = 0; p < kK; ++p) sum += x.values[i / kN * kK + p] * w.values[i % kN * kK + p];
      ASSERT_EQ(got[i], 0.25 * sum) << "element " << i;
    }
  }
}

TEST_F(GpuProducts, WhatWasMeasuredIsTakenFromTheFile) {
  const auto path = fresh_file("kept");
  const BothProducts both(256, 512, 1024, {false, true, DType::Bf16, false});
  MatrixProducts first{AlgorithmFile(path)};
  const auto values = both.on_gpu(first, 0);
  const std::string kept = text_of(path);
  EXPECT_NE(kept.find("256 x 512 x 1024, bf16 into bf16"), std::string::npos) << kept;
  MatrixProducts second{AlgorithmFile(path)};
  EXPECT_EQ(both.on_gpu(second, 0), values);
  EXPECT_EQ(text_of(path), kept);
}

}  // namespace
}  // namespace tessera
