// SPDX-License-Identifier: Apache-2.0
#include "measure/grouped_bench.h"

#include <algorithm>
#include <chrono>

#include "core/statistics.h"
#include "exec/cpu/arena.h"
#include "exec/cpu/gemm.h"
#include "ops/matmul/gemm_blocking.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

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
    for (const Arena* arena : {&a_, &b_}) {  // ordinary numbers: zeros might be faster
      auto* values = reinterpret_cast<float*>(arena->data());
      for (int64_t i = 0; i < arena->bytes() / bytes(1); ++i)
        values[i] = static_cast<float>(i % 97) / 97.0f - 0.5f;
    }
    for (int64_t i = 1; i <= shape.experts; ++i)
      ends_.push_back(static_cast<int32_t>(i * shape.rows));
    one_ = {.m = shape.experts * shape.rows,
            .n = shape.n,
            .k = shape.k,
            .a = {reinterpret_cast<const float*>(a_.data()), shape.k, false},
            .b = {reinterpret_cast<const float*>(b_.data()), shape.n, false},
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

template <typename Call>
double seconds_of(Call&& call, double budget_seconds) {
  const auto timed = [&](int64_t calls) {
    const auto begin = Clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    return seconds_since(begin) / static_cast<double>(calls);
  };
  const double first = timed(1);
  return timed(std::max<int64_t>(1, static_cast<int64_t>(budget_seconds / std::max(first, 1e-7))));
}

}  // namespace

std::vector<GroupedBenchRow> bench_grouped(const GroupedBenchOptions& options) {
  ThreadPool threads(options.threads);
  std::vector<GroupedBenchRow> rows;
  for (const GroupedShape& shape : options.shapes) {
    Products products(shape, threads, options.threads);
    std::vector<double> grouped, one;
    for (int round = 0; round < options.rounds; ++round) {
      grouped.push_back(seconds_of([&] { products.grouped(); }, options.budget_seconds));
      one.push_back(seconds_of([&] { products.one(); }, options.budget_seconds));
    }
    rows.push_back(
        {.shape = shape, .grouped_seconds = median(grouped), .one_seconds = median(one)});
  }
  return rows;
}

}  // namespace tessera
