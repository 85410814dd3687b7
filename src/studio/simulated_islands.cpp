// SPDX-License-Identifier: Apache-2.0
#include "studio/simulated_islands.h"

#include <algorithm>
#include <map>

#include "config/island_config.h"
#include "core/error.h"
#include "core/quantities.h"
#include "mesh/axes.h"
#include "models/model_size.h"

namespace tessera {
namespace {

// The same ranks with data parallelism where the islands were.
Config synchronous_config(Config config) {
  std::vector<Axis> axes;
  int dp = 1;
  for (const Axis& axis : config.mesh) {
    const AxisRow* row = find_axis(axis.name);
    const bool joins = row && (row->axis == AxisKind::Island || row->axis == AxisKind::Dp);
    if (joins)
      dp *= axis.size;
    else
      axes.push_back(axis);
  }
  axes.insert(axes.begin(), Axis{.name = "dp", .size = dp});
  config.mesh = std::move(axes);
  return config;
}

double synchronous_rate(const Config& config, const Cluster& cluster, const StepOptions& options) {
  try {
    const Config merged = synchronous_config(config);
    const SimulatedStep step =
        simulate_step(merged, cluster, spec_to_simulate(cluster, merged), options);
    return static_cast<double>(step.spec.tokens_per_step()) / step.simulation.step_seconds;
  } catch (const UserError&) {
    return 0;  // another mesh may divide where this one does not
  }
}

std::string form_text(const IslandsForm& form) {
  return form.fragments > 1 ? fmt::format("{}, streamed", name(form.wire))
                            : std::string(name(form.wire));
}

}  // namespace

IslandsForm streamed_form(IslandWire wire, int64_t every) {
  constexpr int64_t kFragments = 8;
  const int64_t fragments = std::clamp<int64_t>(every, 1, kFragments);
  return {.wire = wire, .fragments = fragments, .delay = every / fragments};
}

SimulatedIslands simulate_islands(const Config& config, const SimulatedStep& step,
                                  const std::vector<int64_t>& every, const StepOptions& options) {
  SimulatedIslands result{.islands = islands_of(config), .ranks = step.ranks()};
  result.level = level_between(step.cluster, result.islands, result.ranks).name;
  const double tokens = static_cast<double>(step.spec.tokens_per_step()) * result.islands;
  result.alone_tokens_per_second = tokens / step.simulation.step_seconds;
  result.synchronous_tokens_per_second = synchronous_rate(config, step.cluster, options);
  const auto add = [&](int64_t steps, const IslandsForm& form) {
    const IslandTimes times = island_times(step.cluster,
                                           {.islands = result.islands,
                                            .ranks = result.ranks,
                                            .parameters = parameter_count(step.spec.model),
                                            .format = {.wire = form.wire},
                                            .every = steps,
                                            .fragments = form.fragments,
                                            .delay = form.delay},
                                           step.simulation.step_seconds);
    result.rows.push_back({.every = steps,
                           .form = form,
                           .times = times,
                           .tokens_per_second = tokens / times.step_seconds});
  };
  if (every.empty())
    add(config.islands.every, {.wire = config.islands.wire,
                               .fragments = config.islands.fragments,
                               .delay = config.islands.delay});
  for (const int64_t steps : every)
    for (const IslandWire wire : {IslandWire::Exact, IslandWire::Int8, IslandWire::Int4})
      for (const bool streams : {false, true})
        add(steps, streams ? streamed_form(wire, steps) : IslandsForm{.wire = wire});
  return result;
}

std::string to_text(const SimulatedIslands& islands) {
  std::string text = fmt::format(
      "{} islands of {} rank{} meet on the level {}: {:.0f} tokens/s if they never exchange, {}\n"
      "{:>8}  {:<16} {:>9} {:>6} {:>9} {:>12} {:>11} {:>10} {:>9}\n",
      islands.islands, islands.ranks, islands.ranks == 1 ? "" : "s", islands.level,
      islands.alone_tokens_per_second,
      islands.synchronous_tokens_per_second > 0
          ? fmt::format("{:.0f} as synchronous data parallelism",
                        islands.synchronous_tokens_per_second)
          : std::string("and synchronous data parallelism does not divide"),
      "every", "wire", "fragments", "delay", "bytes", "transfer s", "exposed s", "tokens/s",
      "of alone");
  for (const IslandsRow& row : islands.rows)
    text +=
        fmt::format("{:>8}  {:<16} {:>9} {:>6} {:>9} {:>12.4g} {:>11.4g} {:>10.0f} {:>9.3f}\n",
                    row.every, form_text(row.form), row.form.fragments, row.form.delay,
                    short_bytes(static_cast<int64_t>(row.times.bytes)), row.times.transfer_seconds,
                    row.times.exposed_seconds, row.tokens_per_second,
                    row.tokens_per_second / islands.alone_tokens_per_second);
  return text +
         "transfer and exposed seconds are those of all exchanges in that many steps. Islands do "
         "not "
         "compute what\nsynchronous training does: compare losses, not only speed "
         "(docs/islands.md)\n";
}

Json to_json(const SimulatedIslands& islands) {
  Json json{{"islands", islands.islands},
            {"ranks_of_each", islands.ranks},
            {"level", islands.level},
            {"alone_tokens_per_second", islands.alone_tokens_per_second},
            {"synchronous_tokens_per_second", islands.synchronous_tokens_per_second > 0
                                                  ? Json(islands.synchronous_tokens_per_second)
                                                  : Json()},
            {"rows", Json::array()}};
  for (const IslandsRow& row : islands.rows)
    json["rows"].push_back({{"every", row.every},
                            {"wire", name(row.form.wire)},
                            {"fragments", row.form.fragments},
                            {"delay", row.form.delay},
                            {"bytes", row.times.bytes},
                            {"transfer_seconds", row.times.transfer_seconds},
                            {"exposed_seconds", row.times.exposed_seconds},
                            {"tokens_per_second", row.tokens_per_second}});
  return json;
}

}  // namespace tessera
