// SPDX-License-Identifier: Apache-2.0
#include "report/slow_rank.h"

#include <algorithm>
#include <map>

#include "mesh/mesh.h"

namespace tessera {
namespace {

// A row of ranks.jsonl over all of its lines.
struct RankRow {
  double seconds = 0;
  std::map<int, int> told_by;  // lines, by the rank that stood for the row

  int rank() const {
    return std::ranges::max_element(told_by, {}, &std::pair<const int, int>::second)->first;
  }
};

// Lines of the ranks that the run had at its end.
std::vector<RankRow> rows_of(const std::vector<RankLine>& lines) {
  std::vector<RankRow> rows(lines.empty() ? 0 : lines.back().rank.size());
  double steps = 0;
  for (const RankLine& line : lines) {
    if (line.ranks != lines.back().ranks || line.rank.size() != rows.size()) continue;
    const auto weight = static_cast<double>(line.steps);
    steps += weight;
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].seconds += weight * line.compute_seconds[i];
      ++rows[i].told_by[line.rank[i]];
    }
  }
  for (RankRow& row : rows) row.seconds /= steps;
  return rows;
}

int stage_of(const Mesh& mesh, int rank) {
  const int pipeline = mesh.find("pp");
  return pipeline < 0 ? 0 : mesh.coordinate(rank, pipeline);
}

// Of an even number the lower one, so that of two ranks the faster is the usual one.
double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

}  // namespace

std::optional<SlowRank> slowest_rank_of(const RunRecord& record) {
  const std::vector<RankRow> rows = rows_of(record.ranks);
  if (rows.empty() || !record.config) return {};
  const Mesh mesh(record.config->mesh);
  if (mesh.num_ranks() != record.ranks.back().ranks) return {};
  std::map<int, std::vector<double>> stages;
  for (const RankRow& row : rows) stages[stage_of(mesh, row.rank())].push_back(row.seconds);
  std::optional<SlowRank> slowest;
  for (const RankRow& row : rows) {
    const std::vector<double>& stage = stages[stage_of(mesh, row.rank())];
    const SlowRank rank{.rank = row.rank(),
                        .seconds = row.seconds,
                        .usual_seconds = median_of(stage),
                        .stage_ranks = static_cast<int>(stage.size())};
    if (stage.size() > 1 && (!slowest || rank.over() > slowest->over())) slowest = rank;
  }
  return slowest;
}

}  // namespace tessera
