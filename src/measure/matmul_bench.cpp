// SPDX-License-Identifier: Apache-2.0
#include "measure/matmul_bench.h"

#include <algorithm>

#include "core/statistics.h"
#include "exec/cpu/gemm.h"
#include "exec/cpu/openblas_rate.h"
#include "exec/cpu/peak_rate.h"
#include "measure/step_floor.h"
#include "measure/timed_product.h"

namespace tessera {
namespace {

// Holds operands large enough for all the products, in either dtype.
class GemmTimer {
 public:
  GemmTimer(std::span<const NamedMatmul> matmuls, int threads) : threads_(threads) {
    int64_t a = 0, b = 0, c = 0, workspace = 0;
    for (const NamedMatmul& matmul : matmuls) {
      const MatmulShape& shape = matmul.shape;
      a = std::max(a, shape.m * shape.k);
      b = std::max(b, shape.k * shape.n);
      c = std::max(c, shape.m * shape.n);
      workspace = std::max(workspace,
                           gemm_workspace_bytes(shape.m, shape.n, shape.k, sizeof(float), threads));
    }
    a_ = Arena(a * static_cast<int64_t>(sizeof(float)));
    b_ = Arena(b * static_cast<int64_t>(sizeof(float)));
    c_ = Arena(c * static_cast<int64_t>(sizeof(float)));
    workspace_ = Arena(workspace);
  }

  ThreadPool& threads() { return threads_; }

  // Seconds of one product, the mean of as many as fill `budget_seconds`.
  double seconds(const MatmulShape& shape, DType dtype, double budget_seconds) {
    return dtype == DType::Bf16 ? seconds_of<Bf16>(shape, budget_seconds)
                                : seconds_of<float>(shape, budget_seconds);
  }

 private:
  template <typename T>
  double seconds_of(const MatmulShape& shape, double budget_seconds) {
    const Gemm<T, T, T> product{.m = shape.m,
                                .n = shape.n,
                                .k = shape.k,
                                .a = {filled<T>(a_, shape.m * shape.k),
                                      shape.a_transposed ? shape.m : shape.k, shape.a_transposed},
                                .b = {filled<T>(b_, shape.k * shape.n),
                                      shape.b_transposed ? shape.k : shape.n, shape.b_transposed},
                                .c = reinterpret_cast<T*>(c_.data()),
                                .c_stride = shape.n};
    const std::span<std::byte> workspace{workspace_.data(),
                                         static_cast<size_t>(workspace_.bytes())};
    return seconds_per_call(budget_seconds, [&] { gemm(product, threads_, workspace); });
  }

  Arena a_, b_, c_, workspace_;
  ThreadPool threads_;
};

struct Samples {
  std::vector<double> own, split, threaded;
};

std::vector<MatmulShape> shapes_of(const std::vector<NamedMatmul>& matmuls) {
  std::vector<MatmulShape> shapes;
  for (const NamedMatmul& matmul : matmuls) shapes.push_back(matmul.shape);
  return shapes;
}

class MatmulBench {
 public:
  explicit MatmulBench(const MatmulBenchOptions& options)
      : options_(options),
        own_(options.matmuls, options.threads),
        openblas_(shapes_of(options.matmuls), options.threads) {
    for (const NamedMatmul& matmul : options.matmuls)
      for (const DType dtype : options.dtypes) {
        TESSERA_CHECK(dtype == DType::Fp32 || dtype == DType::Bf16, "{}", name(dtype));
        result_.rows.push_back({.matmul = matmul, .dtype = dtype});
      }
    samples_.resize(result_.rows.size());
  }

  MatmulBenchResult run() {
    measure_round(0);  // touches every page
    for (Samples& samples : samples_) samples = {};
    for (int round = 0; round < options_.rounds; ++round) {
      if (options_.progress)
        options_.progress(fmt::format("round {} of {}", round + 1, options_.rounds));
      result_.peak_flops_per_second =
          std::max(result_.peak_flops_per_second, measure_peak_rate(own_.threads()));
      measure_round(options_.budget_seconds);
    }
    for (size_t i = 0; i < samples_.size(); ++i) finish(samples_[i], result_.rows[i]);
    return std::move(result_);
  }

 private:
  void measure_round(double budget_seconds) {
    for (size_t i = 0; i < samples_.size(); ++i) {
      const MatmulBenchRow& row = result_.rows[i];
      samples_[i].own.push_back(own_.seconds(row.matmul.shape, row.dtype, budget_seconds));
      if (row.dtype == DType::Fp32)
        samples_[i].split.push_back(openblas_.split_seconds(row.matmul.shape, budget_seconds));
    }
    // OpenBLAS's own threads go on spinning: not between ours.
    for (size_t i = 0; i < samples_.size(); ++i)
      if (const MatmulBenchRow& row = result_.rows[i]; row.dtype == DType::Fp32)
        samples_[i].threaded.push_back(
            openblas_.threaded_seconds(row.matmul.shape, budget_seconds));
    OpenblasTimer::settle();
  }

  void finish(const Samples& samples, MatmulBenchRow& row) const {
    const auto share = [&](double seconds) {
      return row.matmul.shape.flops() / seconds / result_.peak_flops_per_second;
    };
    row.own_seconds = median(samples.own);
    row.own_peak_share = share(row.own_seconds);
    if (samples.split.empty()) return;
    row.openblas_seconds = std::min(median(samples.split), median(samples.threaded));
    row.openblas_peak_share = share(row.openblas_seconds);
  }

  const MatmulBenchOptions& options_;
  GemmTimer own_;
  OpenblasTimer openblas_;
  std::vector<Samples> samples_;  // by row
  MatmulBenchResult result_;
};

}  // namespace

std::vector<NamedMatmul> layer_matmuls(const ModelConfig& model, BatchShape shape) {
  std::vector<NamedMatmul> matmuls;
  for (const FloorMatmul& each : floor_matmuls(model, shape, 1))
    if (!each.per_head && !each.name.starts_with("head "))
      matmuls.push_back({each.name, each.shape});
  return matmuls;
}

MatmulBenchResult bench_matmul(const MatmulBenchOptions& options) {
  return MatmulBench(options).run();
}

}  // namespace tessera
