// SPDX-License-Identifier: Apache-2.0
// Measures the grouped product of experts beside one product of the same rows, in turns: what it
// costs that every expert has weights of its own.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

struct GroupedShape {
  int64_t experts = 8, rows = 64;  // rows: of one expert
  int64_t n = 128, k = 128;

  double flops() const {
    return 2.0 * static_cast<double>(experts * rows) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

struct GroupedBenchOptions {
  std::vector<GroupedShape> shapes = {};
  int threads = 1;
  int rounds = 5;
  double budget_seconds = 0.1;  // per product and round; at least one call
};

// In fp32; seconds of one call, the medians of the rounds.
struct GroupedBenchRow {
  GroupedShape shape;
  double grouped_seconds = 0, one_seconds = 0;

  double ratio() const { return one_seconds / grouped_seconds; }  // 1: as fast as one product
};

std::vector<GroupedBenchRow> bench_grouped(const GroupedBenchOptions& options);

}  // namespace tessera
