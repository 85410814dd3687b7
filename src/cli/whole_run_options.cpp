// SPDX-License-Identifier: Apache-2.0
#include "cli/whole_run_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/quantities.h"

namespace tessera {
namespace {

constexpr int kMostInNode = 8;  // a level may be a rack or a pod, whose parts are replaced alone
constexpr int kMostRanks = 1 << 20, kMostRuns = 100000;

void check_counts(const std::vector<int64_t>& counts, const Cluster& cluster) {
  const int most = cluster.levels.back().ranks;
  for (const int64_t ranks : counts)
    if (ranks < 1 || ranks > most)
      throw user_error("cannot compare {} ranks: cluster {} has {}", ranks, cluster.name, most)
          .at("--compare-ranks")
          .help(fmt::format("give numbers of ranks from 1 to {}, such as 1024,2048,4096", most));
}

}  // namespace

WholeRunTask WholeRunOptions::task(const Cluster& cluster, uint64_t seed) const {
  WholeRunTask task{.tokens = parse_count(tokens, "--tokens " + tokens),
                    .price_per_rank_hour = price};
  for (size_t i = 0; i < conditions.size(); ++i) {
    const ConditionRow& row = condition_rows()[i];
    const std::string text = conditions[i].empty() ? std::string(row.usual) : conditions[i];
    task.conditions.*row.seconds = parse_duration(text, fmt::format("--{} {}", row.name, text));
  }
  for (size_t i = 0; i < slowdowns.size(); ++i) {
    if (slowdowns[i].empty()) continue;
    const SlowdownRow& row = slowdown_rows()[i];
    task.conditions.*row.slowdown =
        parse_slowdown(slowdowns[i], fmt::format("--{} {}", row.name, slowdowns[i]));
  }
  task.conditions.node_ranks =
      node_ranks > 0 ? node_ranks : std::min(cluster.levels.front().ranks, kMostInNode);
  task.options = {.seed = seed, .runs = runs, .save_every = save_every, .spare_nodes = spare_nodes};
  check_counts(compare_ranks, cluster);
  return task;
}

void add_whole_run_options(Command command, WholeRunOptions& options) {
  const Option tokens =
      command
          .add_option(
              "--tokens", options.tokens,
              "plan a whole run of this many tokens, with its failures (docs/whole_runs.md)")
          .type_name("15T");
  options.conditions.resize(condition_rows().size());
  for (size_t i = 0; i < condition_rows().size(); ++i) {
    const ConditionRow& row = condition_rows()[i];
    command
        .add_option(fmt::format("--{}", row.name), options.conditions[i],
                    fmt::format("{}; default {} ({})", row.summary, row.usual, row.source))
        .type_name("TIME")
        .needs(tokens);
  }
  options.slowdowns.resize(slowdown_rows().size());
  for (size_t i = 0; i < slowdown_rows().size(); ++i)
    command
        .add_option(fmt::format("--{}", slowdown_rows()[i].name), options.slowdowns[i],
                    fmt::format("{}; default none", slowdown_rows()[i].summary))
        .type_name("TIME,FACTOR,TIME")
        .needs(tokens);
  const auto add = [&](const char* name, auto& value, const char* doc) {
    return command.add_option(name, value, doc).needs(tokens);
  };
  add("--price", options.price, "of a rank for an hour, in any currency").positive();
  add("--node-ranks", options.node_ranks,
      "ranks that are replaced together; default: those of the cluster's innermost level, at most "
      "8")
      .range(1, kMostRanks)
      .type_name("N");
  add("--spares", options.spare_nodes,
      "spare nodes; default: the number with the fewest rank hours")
      .range(0, kMostRanks)
      .type_name("N");
  add("--save-every", options.save_every,
      "steps between two checkpoints; default: those that lose least")
      .range(1, 1 << 30)
      .type_name("STEPS");
  add("--simulated-runs", options.runs, "runs to simulate, for the spread")
      .range(1, kMostRuns)
      .type_name("N")
      .show_default();
  const Option step = add("--step-seconds", options.step_seconds,
                          "what a step takes, where it is known: nothing is searched")
                          .positive();
  const Option counts = add("--compare-ranks", options.compare_ranks,
                            "other numbers of ranks to search a plan for: time and price of each")
                            .delimiter(',')
                            .type_name("N,N")
                            .excludes(step);
  command.add_option("--run-svg", options.svg, "draw time and price against numbers of ranks")
      .type_name("FILE")
      .needs(counts);
  command
      .add_flag("--sensitivity", options.sensitivity,
                "also goodput when each figure is a quarter to four times as large")
      .needs(tokens);
}

}  // namespace tessera
