// SPDX-License-Identifier: Apache-2.0
// How fast a run is on each number of nodes, and which range of nodes a job should ask for: from a
// quarter of those up to where added nodes do less than half of their work.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_plan.h"
#include "planner/search.h"
#include "studio/whole_run_plan.h"

namespace tessera {

// The plan for a number of nodes.
using PlanNodes = std::function<PlannedNodes(int nodes)>;

// The best plan of the search for `nodes` nodes of `node_ranks` ranks.
PlannedNodes plan_nodes(const PlanTask& task, const WholeRunTask& whole, int nodes, int node_ranks,
                        const std::function<SearchResult(const PlanTask&)>& search);

// What a step of `row` makes of the whole run.
void add_whole_run(const WholeRunTask& whole, double tokens_per_step, PlannedNodes& row);

struct NodeRange {
  int least = 1, most = 1;
  bool operator==(const NodeRange&) const = default;
};
// "4" or "2-8". A UserError at `place`.
NodeRange parse_node_range(const std::string& text, const std::string& place);

struct SpeedCurve {
  std::vector<PlannedNodes> rows;  // by nodes
  NodeRange range;
};
// Of all counts in `asked`, as long as there are few: of more, powers of two, three times these,
// and both ends. Without `asked`, doubled up to where more nodes stop paying, at most `most_nodes`.
// A UserError where nothing fits.
SpeedCurve speed_curve(const std::optional<NodeRange>& asked, int most_nodes,
                       const PlanNodes& plan);

}  // namespace tessera
