// SPDX-License-Identifier: Apache-2.0
#include "studio/cluster_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <optional>

namespace tessera {
namespace {

enum class SourceKind : uint8_t { Measured, Published, Assumed };

// By the words that cluster files use; nothing for a figure that stands for the absence of one.
std::optional<SourceKind> source_kind(const std::string& source) {
  const auto has = [&](std::string_view word) { return source.find(word) != std::string::npos; };
  if (source == "none" || has("not used")) return {};
  if (has("assumed")) return SourceKind::Assumed;
  if (has("measured") || has("the driver") || has("kernels' seconds")) return SourceKind::Measured;
  return SourceKind::Published;
}

std::string_view source_name(const std::string& source) {
  const std::optional<SourceKind> kind = source_kind(source);
  if (!kind) return "none";
  return *kind == SourceKind::Measured    ? "measured"
         : *kind == SourceKind::Published ? "published"
                                          : "assumed";
}

Json figure_json(const Figure& figure) {
  return {{"value", figure.value}, {"source", figure.source}, {"from", source_name(figure.source)}};
}

void for_each_source(const Cluster& cluster, const std::function<void(const std::string&)>& call) {
  const ClusterDevice& device = cluster.device;
  for (const auto& [arithmetic, figure] : device.peak_flops) call(figure.source);
  for (const Figure* figure :
       {&device.memory_bytes, &device.memory_bandwidth, &device.reserve_bytes,
        &device.launch_seconds, &device.overlap_slowdown})
    call(figure->source);
  for (const Level& level : cluster.levels) {
    for (const Figure* figure :
         {&level.bandwidth, &level.latency_seconds, &level.oversubscription, &level.ramp_bytes})
      call(figure->source);
    if (level.send_bandwidth.value > 0) call(level.send_bandwidth.source);
  }
  for (const EfficiencyTable& table : cluster.efficiencies) call(table.source);
  for (const CollectiveTable& table : cluster.collectives) call(table.source);
}

Json device_json(const ClusterDevice& device) {
  Json json{{"name", device.name},
            {"cores", device.cores},
            {"memory_bytes", figure_json(device.memory_bytes)},
            {"memory_bandwidth", figure_json(device.memory_bandwidth)},
            {"reserve_bytes", figure_json(device.reserve_bytes)},
            {"launch_seconds", figure_json(device.launch_seconds)},
            {"overlap_slowdown", figure_json(device.overlap_slowdown)},
            {"peak_flops", Json::object()}};
  for (const auto& [arithmetic, figure] : device.peak_flops)
    json["peak_flops"][name(arithmetic)] = figure_json(figure);
  return json;
}

}  // namespace

SourceCounts count_sources(const Cluster& cluster) {
  SourceCounts counts;
  for_each_source(cluster, [&](const std::string& source) {
    const std::optional<SourceKind> kind = source_kind(source);
    if (!kind) return;
    ++(*kind == SourceKind::Measured    ? counts.measured
       : *kind == SourceKind::Published ? counts.published
                                        : counts.assumed);
  });
  return counts;
}

std::string wiring_text(const Cluster& cluster, size_t level) {
  const Level& own = cluster.levels[level];
  const int inner = level == 0 ? 1 : cluster.levels[level - 1].ranks;
  const std::string units = fmt::format("{} x {}", own.ranks / inner,
                                        level == 0 ? "rank" : cluster.levels[level - 1].name);
  if (own.fully_connected) return units + ", each with a link to each";
  if (!own.torus.empty())
    return fmt::format("{} on a torus of {}", units, fmt::join(own.torus, " x "));
  return units + " on a switch";
}

std::string rate_text(const Level& level) {
  return fmt::format("{:.4g} GB/s per {}, {:.3g} us", level.rate() / 1e9,
                     level.fully_connected || !level.torus.empty() ? "link" : "rank",
                     level.latency_seconds.value * 1e6);
}

Json to_json(const SourceCounts& counts) {
  return {
      {"measured", counts.measured}, {"published", counts.published}, {"assumed", counts.assumed}};
}

Json to_json(const Cluster& cluster) {
  Json json{{"name", cluster.name},
            {"calibrated", cluster.calibrated},
            {"ranks", cluster.levels.back().ranks},
            {"device", device_json(cluster.device)},
            {"levels", Json::array()},
            {"efficiencies", Json::array()},
            {"sources", to_json(count_sources(cluster))},
            {"unknown", cluster.unknown}};
  for (const Level& level : cluster.levels)
    json["levels"].push_back({{"name", level.name},
                              {"ranks", level.ranks},
                              {"bandwidth", figure_json(level.bandwidth)},
                              {"latency_seconds", figure_json(level.latency_seconds)},
                              {"oversubscription", figure_json(level.oversubscription)},
                              {"ramp_bytes", figure_json(level.ramp_bytes)},
                              {"send_bandwidth", figure_json(level.send_bandwidth)},
                              {"rate", level.rate()},
                              {"torus", level.torus},
                              {"fully_connected", level.fully_connected}});
  for (const EfficiencyTable& table : cluster.efficiencies)
    json["efficiencies"].push_back(
        {{"op", op_text(table)}, {"source", table.source}, {"from", source_name(table.source)}});
  return json;
}

}  // namespace tessera
