// SPDX-License-Identifier: Apache-2.0
// tessera bench matmul --device cuda: the GPU's rate by size and type, and the MFU of a wide mlp.
#include "cli/bench_gpu_matmul.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "cli/commands.h"
#include "exec/device.h"
#include "files/json.h"
#include "measure/step_bench.h"

namespace tessera {
namespace {

struct Row {
  NamedMatmul matmul;
  std::string dtype;
  double seconds;
  double flops_per_second() const { return matmul.shape.flops() / seconds; }
};

// Fp8 needs sizes divisible by 16.
bool takes(const std::string& dtype, const MatmulShape& shape) {
  return dtype != "fp8" || (shape.m % 16 == 0 && shape.n % 16 == 0 && shape.k % 16 == 0);
}

std::vector<Row> measure(const Device& gpu, const std::vector<NamedMatmul>& matmuls,
                         const std::vector<std::string>& dtypes) {
  std::vector<Row> rows;
  std::vector<DeviceMatmul> asked;
  for (const std::string& dtype : dtypes)
    for (const NamedMatmul& matmul : matmuls) {
      if (!takes(dtype, matmul.shape)) continue;
      rows.push_back({matmul, dtype, 0});
      asked.push_back({.shape = matmul.shape,
                       .dtype = dtype == "fp32" ? DType::Fp32 : DType::Bf16,
                       .fp8 = dtype == "fp8"});
    }
  const std::vector<double> seconds = gpu.matmul_seconds(asked);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].seconds = seconds[i];
  return rows;
}

// Wide enough that almost only its matmuls matter.
StepBenchResult wide_mlp(const RunOptions& run) {
  RunOptions wide = run;
  wide.short_forms.insert(wide.short_forms.end(), {{"model.preset", "mlp"},
                                                   {"model.width", "8192"},
                                                   {"model.mlp_size", "8192"},
                                                   {"train.batch", "16384"},
                                                   {"train.seq", "1"},
                                                   {"train.precision", "bf16"}});
  return bench_step(wide.load(), {.steps = 5});
}

void print_json(const std::string& gpu, const std::vector<Row>& rows, const StepBenchResult* wide) {
  Json json{{"gpu", gpu}, {"results", Json::array()}};
  for (const Row& row : rows)
    json["results"].push_back({{"name", row.matmul.name},
                               {"m", row.matmul.shape.m},
                               {"n", row.matmul.shape.n},
                               {"k", row.matmul.shape.k},
                               {"a_transposed", row.matmul.shape.a_transposed},
                               {"b_transposed", row.matmul.shape.b_transposed},
                               {"dtype", row.dtype},
                               {"seconds", row.seconds},
                               {"flops_per_second", row.flops_per_second()}});
  if (wide)
    json["wide_mlp"] = {{"step_seconds", wide->step_seconds},
                        {"mfu", wide->mfu},
                        {"peak_flops_per_second", wide->peak_flops_per_second}};
  print_json(json);
}

void print_table(const std::string& gpu, const std::vector<Row>& rows) {
  std::map<std::string, double> best;
  for (const Row& row : rows) best[row.dtype] = std::max(best[row.dtype], row.flops_per_second());
  fmt::print("# {}\n{:<42} {:>20} {:>5} {:>10} {:>8} {:>8}\n", gpu, "matmul", "m x n x k", "type",
             "ms", "TFLOP/s", "of best");
  for (const Row& row : rows) {
    const MatmulShape& shape = row.matmul.shape;
    fmt::print("{:<42} {:>20} {:>5} {:>10.4f} {:>8.1f} {:>8.3f}\n", row.matmul.name,
               fmt::format("{}x{}x{}", shape.m, shape.n, shape.k), row.dtype, row.seconds * 1e3,
               row.flops_per_second() / 1e12, row.flops_per_second() / best[row.dtype]);
  }
  std::fflush(stdout);
}

void print_wide_mlp(const StepBenchResult& wide) {
  fmt::print(
      "\nwide relu mlp in training, 4 x 8192 x 8192 over 16384 rows, bf16: {:.1f} ms a step, MFU "
      "{:.1f} "
      "% of {:.1f} TFLOP/s\n",
      wide.step_seconds * 1e3, 100 * wide.mfu, wide.peak_flops_per_second / 1e12);
}

}  // namespace

void bench_gpu_matmul(const RunOptions& run, const std::vector<NamedMatmul>& matmuls,
                      const std::vector<std::string>& dtypes, bool with_wide_mlp) {
  const Device& device = require_device(run.load().run.device);
  const std::string gpu = device.facts().name;
  const std::vector<Row> rows = measure(device, matmuls, dtypes);
  if (!run.json) print_table(gpu, rows);
  std::optional<StepBenchResult> wide;
  if (with_wide_mlp) wide = wide_mlp(run);
  if (run.json) print_json(gpu, rows, wide ? &*wide : nullptr);
  if (!run.json && wide) print_wide_mlp(*wide);
}

}  // namespace tessera
