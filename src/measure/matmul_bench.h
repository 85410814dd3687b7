// SPDX-License-Identifier: Apache-2.0
// Measures our matrix product beside OpenBLAS's, shape by shape and in turns, as shares of the most
// that the cores can do.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "exec/device.h"
#include "models/model_config.h"

namespace tessera {

struct NamedMatmul {
  std::string name;  // "512" for a square, or "up forward"
  MatmulShape shape;
};

// The products of one layer over batch x seq rows: forward, input and weight gradient of each
// weight. Those of attention and of the output head are left out.
std::vector<NamedMatmul> layer_matmuls(const ModelConfig& model, BatchShape shape);

struct MatmulBenchOptions {
  std::vector<NamedMatmul> matmuls = {};
  std::vector<DType> dtypes = {DType::Fp32};  // Fp32 and Bf16
  int threads = 1;
  int rounds = 3;
  double budget_seconds = 0.1;  // per product, way and round; at least one call
  std::function<void(std::string_view)> progress = {};
};

struct MatmulBenchRow {
  NamedMatmul matmul;
  DType dtype = DType::Fp32;
  double own_seconds = 0, openblas_seconds = 0;  // of one; 0: OpenBLAS has none for this dtype
  double own_peak_share = 0, openblas_peak_share = 0;
};

struct MatmulBenchResult {
  double peak_flops_per_second = 0;  // fp32; also bf16's, whose products are made in fp32
  std::vector<MatmulBenchRow> rows;
};

MatmulBenchResult bench_matmul(const MatmulBenchOptions& options);

}  // namespace tessera
