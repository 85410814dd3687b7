// SPDX-License-Identifier: Apache-2.0
#include "jobs/speed_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "core/error.h"
#include "mesh/mesh.h"
#include "studio/plan_search.h"
#include "studio/planned_run.h"

namespace tessera {
namespace {

constexpr int kFewNodes = 8, kMostNodes = 1 << 20;
constexpr int kLeastShare = 4;  // the least nodes are the most divided by it
constexpr double kNineteenOfTwenty = 0.95;

// Of the nodes that `row` has beyond `before`: the share of their work that they do.
double added_share(const PlannedNodes& before, const PlannedNodes& row) {
  const double faster = before.run_seconds / row.run_seconds - 1;
  return faster / (static_cast<double>(row.nodes) / before.nodes - 1);
}

std::set<int> counts_in(const NodeRange& range) {
  std::set<int> counts{range.least, range.most};
  for (int nodes = range.least; nodes <= std::min(range.most, kFewNodes); ++nodes)
    counts.insert(nodes);
  for (int64_t power = 1; power <= range.most; power *= 2)
    for (const int64_t nodes : {power, 3 * power})
      if (nodes >= range.least && nodes <= range.most) counts.insert(static_cast<int>(nodes));
  return counts;
}

class Curve {
 public:
  explicit Curve(const PlanNodes& plan) : plan_(plan) {}

  const PlannedNodes& at(int nodes) {
    const auto found = rows_.find(nodes);
    return found != rows_.end() ? found->second : rows_.emplace(nodes, plan_(nodes)).first->second;
  }

  // Doubled from one node on; 0: none fits.
  int where_more_stop_paying(int most_nodes) {
    const PlannedNodes* last = nullptr;
    for (int64_t power = 1; power <= most_nodes; power *= 2) {
      const PlannedNodes& row = at(static_cast<int>(power));
      if (!row.fits()) continue;
      if (last && added_share(*last, row) < kLeastAddedShare) break;
      last = &row;
    }
    return last ? last->nodes : 0;
  }

  int least_that_fits(const NodeRange& range) {
    for (const int nodes : counts_in(range))
      if (at(nodes).fits()) return nodes;
    return 0;
  }

  std::vector<PlannedNodes> rows() const {
    std::vector<PlannedNodes> all;
    for (const auto& [nodes, row] : rows_) all.push_back(row);
    return all;
  }

 private:
  const PlanNodes& plan_;
  std::map<int, PlannedNodes> rows_;
};

UserError nothing_fits(Curve& curve) {
  std::string reason;
  for (const PlannedNodes& row : curve.rows())
    reason = fmt::format("on {} node{}: {}", row.nodes, row.nodes == 1 ? "" : "s", row.problem);
  return user_error("no plan was found for any number of nodes; {}", reason)
      .help("ask for others with --nodes, or see why with tessera plan");
}

}  // namespace

PlannedNodes plan_nodes(const PlanTask& task, const WholeRunTask& whole, int nodes, int node_ranks,
                        const std::function<SearchResult(const PlanTask&)>& search) {
  PlanTask there = task;
  there.ranks = nodes * node_ranks;
  PlannedNodes row{.nodes = nodes, .ranks = there.ranks};
  try {
    const SearchResult found = search(there);
    if (found.ranked.empty()) throw no_plan(there, found);
    const Trial& best = found.ranked.front();
    row.plan = to_string(best.candidate);
    const std::vector<Axis> axes = best.candidate.axes.above_one();
    row.mesh = axes.empty() ? "dp=1" : to_string(Mesh(axes));
    for (const auto& [key, value] : planned_settings(there, best))
      row.settings.emplace_back(key, value);
    row.step_seconds = best.simulation.step_seconds;
    add_whole_run(whole, static_cast<double>(task.run.tokens_per_step()), row);
  } catch (const UserError& error) {
    row.problem = error.message();
  }
  return row;
}

void add_whole_run(const WholeRunTask& whole, double tokens_per_step, PlannedNodes& row) {
  const WholeRunPlan plan = plan_whole_run(whole, tokens_per_step, row.ranks, row.step_seconds);
  row.run_seconds = plan.forecast.mean_seconds();
  row.long_run_seconds = plan.forecast.seconds_at(kNineteenOfTwenty);
  row.goodput = goodput(plan.run, row.run_seconds);
  row.save_every = plan.forecast.choices.save_every;
}

NodeRange parse_node_range(const std::string& text, const std::string& place) {
  const auto number = [&](std::string_view part) {
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool whole = error == std::errc() && end == part.data() + part.size();
    return whole && value <= kMostNodes ? value : 0;
  };
  const size_t dash = text.find('-');
  const std::string_view all(text);
  NodeRange range{.least = number(all.substr(0, dash)), .most = 0};
  range.most = dash == std::string::npos ? range.least : number(all.substr(dash + 1));
  if (range.least < 1 || range.most < range.least)
    throw user_error("{} is no range of nodes", text.empty() ? "nothing" : text)
        .at(place)
        .help("give a number or two, such as --nodes 4 or --nodes 2-8");
  return range;
}

SpeedCurve speed_curve(const std::optional<NodeRange>& asked, int most_nodes,
                       const PlanNodes& plan) {
  Curve curve(plan);
  NodeRange range = asked.value_or(NodeRange{});
  if (!asked) {
    range.most = curve.where_more_stop_paying(most_nodes);
    if (range.most == 0) throw nothing_fits(curve);
    range.least = std::max(1, (range.most + kLeastShare - 1) / kLeastShare);
  }
  range.least = curve.least_that_fits(range);
  if (range.least == 0) throw nothing_fits(curve);
  for (const int nodes : counts_in(range)) curve.at(nodes);
  return {.rows = curve.rows(), .range = range};
}

}  // namespace tessera
