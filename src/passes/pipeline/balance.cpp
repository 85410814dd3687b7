// SPDX-License-Identifier: Apache-2.0
// How many blocks each stage has: by cost, exactly, by dynamic programming over the start of the
// last part; or as many layers in each.
#include <limits>

#include "core/error.h"
#include "passes/pipeline/assign_stages.h"

namespace tessera {
namespace {

// The most expensive part, then the sum of squares, which is smallest when parts are even.
struct Score {
  double largest = std::numeric_limits<double>::max();
  double squares = std::numeric_limits<double>::max();

  bool operator<(const Score& other) const {
    const double slack = 1e-9 * other.largest;
    if (largest < other.largest - slack) return true;
    return largest <= other.largest + slack && squares < other.squares * (1 - 1e-9);
  }
};

}  // namespace

std::vector<int> balance(const std::vector<double>& costs, int parts) {
  const size_t n = costs.size(), p = static_cast<size_t>(parts);
  std::vector<double> before(n + 1, 0);
  for (size_t i = 0; i < n; ++i) before[i + 1] = before[i] + costs[i];
  // best[k][i]: the cost of the first i blocks in k parts; cut[k][i]: where the last of these parts
  // begins.
  std::vector<std::vector<Score>> best(p + 1, std::vector<Score>(n + 1));
  std::vector<std::vector<size_t>> cut(p + 1, std::vector<size_t>(n + 1, 0));
  best[0][0] = {.largest = 0, .squares = 0};
  for (size_t k = 1; k <= p; ++k)
    for (size_t i = k; i <= n; ++i)
      for (size_t from = k - 1; from < i; ++from) {
        const double part = before[i] - before[from];
        const Score& rest = best[k - 1][from];
        const Score score{.largest = std::max(rest.largest, part),
                          .squares = rest.squares + part * part};
        if (score < best[k][i]) {
          best[k][i] = score;
          cut[k][i] = from;
        }
      }
  std::vector<int> counts(p);
  for (size_t k = p, end = n; k > 0; --k) {
    counts[k - 1] = static_cast<int>(end - cut[k][end]);
    end = cut[k][end];
  }
  return counts;
}

std::vector<int> even_stages(int blocks, int stages) {
  const int layers = blocks - 2;
  if (layers < stages || layers % stages != 0)
    throw user_error("plan.stages is even, but {} layers do not make {} equal stages", layers,
                     stages)
        .at("plan.stages")
        .help("use pp x chunks that divides the layers, or list the blocks of each stage");
  std::vector<int> counts(static_cast<size_t>(stages), layers / stages);
  ++counts.front();
  ++counts.back();
  return counts;
}

}  // namespace tessera
