// SPDX-License-Identifier: Apache-2.0
// Against sums in fp64 on the host, over every number of rows and both ways in which B lies.
#include "exec/cuda/few_rows_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/random.h"
#include "exec/device.h"

namespace tessera {
namespace {

struct Case {
  int64_t m, n, k;
  bool transposed;
  DType result;
  bool bias, addend;
};

std::vector<Bf16> random_values(int64_t count, const char* what) {
  const RandomStream draws(1, what);
  std::vector<Bf16> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = to_bf16(static_cast<float>(2 * draws.uniform(i) - 1));
  return values;
}

std::vector<std::byte> in_dtype(const std::vector<Bf16>& values, DType dtype) {
  const auto element = static_cast<size_t>(size_bytes(dtype));
  std::vector<std::byte> bytes(values.size() * element);
  for (size_t i = 0; i < values.size(); ++i) {
    const float wide = load(values[i]);
    if (dtype == DType::Fp32)
      std::memcpy(&bytes[i * element], &wide, element);
    else
      std::memcpy(&bytes[i * element], &values[i], element);
  }
  return bytes;
}

double value_at(const std::vector<std::byte>& bytes, DType dtype, size_t i) {
  if (dtype == DType::Fp32) {
    float wide = 0;
    std::memcpy(&wide, &bytes[i * sizeof wide], sizeof wide);
    return wide;
  }
  Bf16 narrow;
  std::memcpy(&narrow, &bytes[i * sizeof narrow], sizeof narrow);
  return load(narrow);
}

struct OnDevice {
  DeviceMemory memory;
  explicit OnDevice(std::span<const std::byte> bytes) : memory(static_cast<int64_t>(bytes.size())) {
    check_cuda(cudaMemcpy(memory.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
               "write");
  }
};

class FewRowsCase {
 public:
  explicit FewRowsCase(const Case& c)
      : c_(c),
        a_(random_values(c.m * c.k, "a")),
        b_(random_values(c.n * c.k, "b")),
        bias_(random_values(c.n, "bias")),
        addend_(random_values(c.m * c.n, "addend")) {}

  // NaNs where nothing was written.
  std::vector<std::byte> on_gpu() const {
    const OnDevice a(std::as_bytes(std::span(a_))), b(std::as_bytes(std::span(b_))),
        bias(in_dtype(bias_, c_.result)), addend(in_dtype(addend_, c_.result));
    std::vector<std::byte> bytes(static_cast<size_t>(c_.m * c_.n * size_bytes(c_.result)),
                                 std::byte{0xff});
    const OnDevice c(bytes);
    const DeviceProduct product{.m = c_.m,
                                .n = c_.n,
                                .k = c_.k,
                                .dtype = DType::Bf16,
                                .result_dtype = c_.result,
                                .a = {a.memory.data(), c_.k},
                                .b = {b.memory.data(), c_.transposed ? c_.k : c_.n, c_.transposed},
                                .c = c.memory.data(),
                                .c_stride = c_.n,
                                .bias = c_.bias ? bias.memory.data() : nullptr,
                                .addend = c_.addend ? addend.memory.data() : nullptr};
    EXPECT_TRUE(has_few_rows(product));
    const DeviceStream stream;
    enqueue_few_rows(product, stream.get());
    stream.wait();
    check_cuda(cudaMemcpy(bytes.data(), c.memory.data(), bytes.size(), cudaMemcpyDeviceToHost),
               "read");
    return bytes;
  }

  double on_host(int64_t row, int64_t column) const {
    double sum = (c_.bias ? load(bias_[static_cast<size_t>(column)]) : 0.0) +
                 (c_.addend ? load(addend_[static_cast<size_t>(row * c_.n + column)]) : 0.0);
    for (int64_t t = 0; t < c_.k; ++t)
      sum += static_cast<double>(load(a_[static_cast<size_t>(row * c_.k + t)])) *
             load(b_[static_cast<size_t>(c_.transposed ? column * c_.k + t : t * c_.n + column)]);
    return sum;
  }

  void check() const {
    const std::vector<std::byte> got = on_gpu();
    for (int64_t row = 0; row < c_.m; ++row)
      for (int64_t column = 0; column < c_.n;
           column += column < 80 || column > c_.n - 40 ? 1 : 37) {
        const double expected = on_host(row, column);
        const double allowed = 1e-4 * std::sqrt(static_cast<double>(c_.k)) +
                               (c_.result == DType::Bf16 ? std::abs(expected) / 250 : 0);
        ASSERT_NEAR(value_at(got, c_.result, static_cast<size_t>(row * c_.n + column)), expected,
                    allowed)
            << "row " << row << ", column " << column;
      }
    EXPECT_EQ(got, on_gpu()) << "other bits in a second run";
  }

 private:
  Case c_;
  std::vector<Bf16> a_, b_, bias_, addend_;
};

class GpuFewRows : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(GpuFewRows, MatchTheHost) {
  for (const bool transposed : {false, true})
    for (int64_t m = 1; m <= 8; ++m)
      for (const DType result : {DType::Bf16, DType::Fp32}) {
        SCOPED_TRACE(fmt::format("{} rows, {}, {}", m, transposed ? "transposed" : "as it lies",
                                 name(result)));
        // Neither size is a multiple of what a block has; parts of k are unequal.
        FewRowsCase({m, 1032, transposed ? 2056 : 2051, transposed, result, m % 2 == 0, m % 3 == 0})
            .check();
        FewRowsCase({m, 264, 256, transposed, result, false, m == 8}).check();
      }
}

TEST_F(GpuFewRows, AreNotTakenWhereTheyCannotBe) {
  const DeviceMemory memory(1 << 20);
  DeviceProduct product{.m = 4,
                        .n = 512,
                        .k = 512,
                        .dtype = DType::Bf16,
                        .result_dtype = DType::Bf16,
                        .a = {memory.data(), 512},
                        .b = {memory.data(), 512},
                        .c = memory.data(),
                        .c_stride = 512};
  EXPECT_TRUE(has_few_rows(product));
  for (const auto& change : std::vector<std::function<void(DeviceProduct&)>>{
           [](DeviceProduct& p) { p.m = 9; }, [](DeviceProduct& p) { p.accumulate = true; },
           [](DeviceProduct& p) { p.n = p.b.stride = 508; },
           [](DeviceProduct& p) { p.dtype = DType::Fp32; },
           [](DeviceProduct& p) { p.a.transposed = true; },
           [](DeviceProduct& p) { p.activation = EpilogueActivation::GeluTanh; }}) {
    DeviceProduct other = product;
    change(other);
    EXPECT_FALSE(has_few_rows(other));
  }
}

}  // namespace
}  // namespace tessera
