// SPDX-License-Identifier: Apache-2.0
// Measures products through MatrixProducts, as kernels call it.

#include <algorithm>
#include <cstring>
#include <map>

#include "exec/cuda/cuda_device.h"
#include "exec/cuda/matrix_products.h"

namespace tessera {
namespace {

constexpr int kRounds = 5;
constexpr double kRoundSeconds = 0.01;

int64_t operand_bytes(const DeviceMatmul& matmul) {
  return matmul.fp8 ? 1 : size_bytes(matmul.dtype);
}

DType result_dtype(const DeviceMatmul& matmul) {
  const bool gradient = matmul.shape.a_transposed && matmul.dtype == DType::Bf16 && !matmul.fp8;
  return gradient ? DType::Fp32 : matmul.dtype;
}

uint32_t mixed_bits(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

// Like weights, below a half in size: zeros, or equal numbers, would be faster than real data.
std::vector<std::byte> made_elements(const DeviceMatmul& matmul) {
  const auto width = static_cast<size_t>(operand_bytes(matmul));
  std::vector<std::byte> bytes(1 << 24);
  for (size_t i = 0; i < bytes.size() / width; ++i) {
    const uint32_t bits = mixed_bits(static_cast<uint32_t>(i));
    const float value = static_cast<float>((bits & 0xffff) + (bits >> 16)) / 131072.0f - 0.5f;
    const auto eight = static_cast<uint8_t>((bits & 0x80) | (0x20 + (bits >> 8) % 32));
    const auto put = [&](auto element) {
      std::memcpy(bytes.data() + i * width, &element, sizeof element);
    };
    if (width == 1) put(eight);
    if (width == 2) put(to_bf16(value));
    if (width == 4) put(value);
    if (width == 8) put(static_cast<double>(value));
  }
  return bytes;
}

void fill(const DeviceMemory& memory, std::span<const std::byte> made) {
  const int64_t part = std::min<int64_t>(memory.bytes(), static_cast<int64_t>(made.size()));
  memory.fill(made.first(static_cast<size_t>(part)));
  for (int64_t at = part; at < memory.bytes(); at += part)
    check_cuda(cudaMemcpy(memory.data() + at, memory.data(),
                          static_cast<size_t>(std::min(part, memory.bytes() - at)),
                          cudaMemcpyDeviceToDevice),
               "fill GPU memory");
  check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "fill GPU memory");
}

class MatmulTimer {
 public:
  MatmulTimer() { scale_.fill(std::as_bytes(std::span(&kOne, 1))); }

  double seconds(const DeviceMatmul& matmul) {
    const MatmulShape& shape = matmul.shape;
    const DType result = result_dtype(matmul);
    const DeviceMemory a(shape.m * shape.k * operand_bytes(matmul)),
        b(shape.k * shape.n * operand_bytes(matmul)), c(shape.m * shape.n * size_bytes(result));
    const std::vector<std::byte> made = made_elements(matmul);
    fill(a, made);
    fill(b, made);
    const bool a_transposed = shape.a_transposed && !matmul.fp8;
    const bool b_transposed = shape.b_transposed || matmul.fp8;
    const auto format = matmul.fp8 ? std::optional(Fp8::E4m3) : std::nullopt;
    const auto* scale = matmul.fp8 ? reinterpret_cast<const float*>(scale_.data()) : nullptr;
    const DeviceProduct product{
        .m = shape.m,
        .n = shape.n,
        .k = shape.k,
        .dtype = matmul.dtype,
        .result_dtype = result,
        .a = {a.data(), a_transposed ? shape.m : shape.k, a_transposed, format, scale},
        .b = {b.data(), b_transposed ? shape.k : shape.n, b_transposed, format, scale},
        .c = c.data(),
        .c_stride = shape.n};
    products_.enqueue(product, stream_.get());
    double best = timed(product, 1);
    const int runs = std::clamp(static_cast<int>(kRoundSeconds / best), 1, 1000);
    for (int round = 0; round < kRounds; ++round) best = std::min(best, timed(product, runs));
    return best;
  }

 private:
  static constexpr float kOne = 1;

  double timed(const DeviceProduct& product, int runs) {
    timer_.begin(stream_);
    for (int i = 0; i < runs; ++i) products_.enqueue(product, stream_.get());
    timer_.end(stream_);
    return timer_.seconds() / runs;
  }

  MatrixProducts products_;
  DeviceMemory scale_{sizeof(float)};
  DeviceStream stream_;
  DeviceTimer timer_;
};

}  // namespace

std::vector<double> CudaDevice::matmul_seconds(std::span<const DeviceMatmul> matmuls) const {
  require_device(DeviceKind::Cuda);
  MatmulTimer timer;
  std::vector<double> seconds;
  for (const DeviceMatmul& matmul : matmuls) seconds.push_back(timer.seconds(matmul));
  return seconds;
}

// Once for each kind: a run asks for its peak and for the warning below.
double CudaDevice::matmul_rate(Precision precision, int /*threads*/) const {
  static std::map<std::pair<DType, bool>, double> measured;
  const auto [rate, fresh] = measured.try_emplace({precision.compute, precision.fp8}, 0.0);
  if (fresh) {
    const int64_t size = precision.compute == DType::Bf16 ? 8192 : 4096;
    const DeviceMatmul square{.shape = {.m = size, .n = size, .k = size},
                              .dtype = precision.compute,
                              .fp8 = precision.fp8};
    rate->second = square.shape.flops() / matmul_seconds({&square, 1}).front();
  }
  return rate->second;
}

std::string CudaDevice::slow_dtype_warning(DType dtype) const {
  if (dtype != DType::Fp32) return "";
  const double slower = matmul_rate(DType::Bf16, 1) / matmul_rate(DType::Fp32, 1);
  if (slower < 2) return "";
  return fmt::format(
      "fp32 leaves the GPU's tensor cores idle: matmuls take {:.0f} times as long as in bf16 "
      "(--precision bf16)",
      slower);
}

}  // namespace tessera
