// SPDX-License-Identifier: Apache-2.0
#include "measure/grouped_bench.h"

#include <algorithm>

#include "core/statistics.h"
#include "exec/cpu/gemm.h"
#include "measure/timed_product.h"
#include "ops/matmul/gemm_blocking.h"

namespace tessera {
namespace {

// The operands of one shape; both products read the same rows.
class Products {
 public:
  Products(const GroupedShape& shape, ThreadPool& threads, int num_threads)
      : threads_(threads),
        a_(bytes(shape.experts * shape.rows * shape.k)),
        b_(bytes(shape.experts * shape.k * shape.n)),
        c_(bytes(shape.experts * shape.rows * shape.n)),
        workspace_(
            std::max(gemm_workspace_bytes(shape.experts * shape.rows, shape.n, shape.k,
                                          sizeof(float), num_threads),
                     grouped_gemm_workspace_bytes(shape.experts, shape.experts * shape.rows,
                                                  shape.n, shape.k, sizeof(float), num_threads))) {
    for (int64_t i = 1; i <= shape.experts; ++i)
      ends_.push_back(static_cast<int32_t>(i * shape.rows));
    one_ = {.m = shape.experts * shape.rows,
            .n = shape.n,
            .k = shape.k,
            .a = {filled<float>(a_, shape.experts * shape.rows * shape.k), shape.k, false},
            .b = {filled<float>(b_, shape.experts * shape.k * shape.n), shape.n, false},
            .c = reinterpret_cast<float*>(c_.data()),
            .c_stride = shape.n};
  }

  void one() { gemm(one_, threads_, room()); }
  void grouped() {
    grouped_gemm(GroupedGemm<float, float, float>{.first = one_,
                                                  .ragged = Ragged::Rows,
                                                  .groups = static_cast<int64_t>(ends_.size()),
                                                  .ends = ends_.data()},
                 threads_, room());
  }

 private:
  static int64_t bytes(int64_t elements) { return elements * static_cast<int64_t>(sizeof(float)); }
  std::span<std::byte> room() {
    return {workspace_.data(), static_cast<size_t>(workspace_.bytes())};
  }

  ThreadPool& threads_;
  Arena a_, b_, c_, workspace_;
  std::vector<int32_t> ends_;
  Gemm<float, float, float> one_{};
};

}  // namespace

std::vector<GroupedBenchRow> bench_grouped(const GroupedBenchOptions& options) {
  ThreadPool threads(options.threads);
  std::vector<GroupedBenchRow> rows;
  for (const GroupedShape& shape : options.shapes) {
    Products products(shape, threads, options.threads);
    std::vector<double> grouped, one;
    for (int round = 0; round < options.rounds; ++round) {
      grouped.push_back(seconds_per_call(options.budget_seconds, [&] { products.grouped(); }));
      one.push_back(seconds_per_call(options.budget_seconds, [&] { products.one(); }));
    }
    rows.push_back(
        {.shape = shape, .grouped_seconds = median(grouped), .one_seconds = median(one)});
  }
  return rows;
}

}  // namespace tessera
