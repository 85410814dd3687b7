// SPDX-License-Identifier: Apache-2.0
// A cluster as the text that parse_cluster reads.
#include <fmt/format.h>

#include "files/toml_document.h"
#include "sim/cluster.h"

namespace tessera {
namespace {

std::string text_of(const Figure& figure) {
  return fmt::format("{{ value = {:.6g}, source = {} }}", figure.value, toml_string(figure.source));
}

std::string text_of(const ClusterDevice& device) {
  std::string text = fmt::format("\n[device]\nname = {}\n", toml_string(device.name));
  if (device.cores > 0) text += fmt::format("cores = {}\n", device.cores);
  text += fmt::format("memory_bytes = {}\nmemory_bandwidth = {}\n", text_of(device.memory_bytes),
                      text_of(device.memory_bandwidth));
  if (device.reserve_bytes.value > 0)
    text += fmt::format("reserve_bytes = {}\n", text_of(device.reserve_bytes));
  text += fmt::format("launch_seconds = {}\noverlap_slowdown = {}\n",
                      text_of(device.launch_seconds), text_of(device.overlap_slowdown));
  if (device.cool_gain.value > 1)
    text += fmt::format("cool_gain = {}\n", text_of(device.cool_gain));
  text += "\n[device.peak_flops]\n";
  for (const auto& [arithmetic, figure] : device.peak_flops)
    text += fmt::format("{} = {}\n", name(arithmetic), text_of(figure));
  return text;
}

std::string text_of(const HostLink& host) {
  return fmt::format(
      "\n[host]\nbandwidth = {}\nboth_ways = {}\nmemory_bytes = {}\nmemory_bandwidth = {}\n"
      "devices = {}\nlink_devices = {}\n",
      text_of(host.bandwidth), text_of(host.both_ways), text_of(host.memory_bytes),
      text_of(host.memory_bandwidth), host.devices, host.link_devices);
}

std::string text_of(const Level& level) {
  std::string text = fmt::format(
      "\n[[level]]\nname = {}\nranks = {}\nbandwidth = {}\nlatency_seconds = {}\n"
      "oversubscription = {}\n",
      toml_string(level.name), level.ranks, text_of(level.bandwidth),
      text_of(level.latency_seconds), text_of(level.oversubscription));
  if (level.ramp_bytes.value > 0)
    text += fmt::format("ramp_bytes = {}\n", text_of(level.ramp_bytes));
  if (level.send_bandwidth.value > 0)
    text += fmt::format("send_bandwidth = {}\n", text_of(level.send_bandwidth));
  if (!level.torus.empty()) text += fmt::format("torus = [{}]\n", fmt::join(level.torus, ", "));
  if (level.fully_connected) text += "fully_connected = true\n";
  return text;
}

std::string text_of(const EfficiencyTable& table) {
  std::string text =
      fmt::format("\n[[efficiency]]\nop = {}\n", toml_string(std::string(op_text(table))));
  if (table.threads > 0) text += fmt::format("threads = {}\n", table.threads);
  if (table.busy_ranks > 0) text += fmt::format("busy_ranks = {}\n", table.busy_ranks);
  if (!table.kernel.empty()) text += fmt::format("kernel = {}\n", toml_string(table.kernel));
  if (table.curve)
    return text + fmt::format(
                      "source = {}\ncurve = {{ ceiling = {:.6g}, memory = {:.6g}, fill_seconds = "
                      "{:.6g}, narrow = {:.6g} }}\n",
                      toml_string(table.source), table.curve->ceiling, table.curve->memory,
                      table.curve->fill_seconds, table.curve->narrow);
  text += fmt::format("source = {}\npoints = [\n", toml_string(table.source));
  for (const EfficiencyPoint& point : table.points)
    text += fmt::format("  [{:.6g}, {:.6g}, {:.6g}, {:.4g}],\n", point.size[0], point.size[1],
                        point.size[2], point.efficiency);
  return text + "]\n";
}

std::string text_of(const CollectiveTable& table) {
  std::string text = fmt::format("\n[[collective]]\nop = {}\nranks = {}\n",
                                 toml_string(std::string(name(table.op))), table.ranks);
  if (!table.level.empty()) text += fmt::format("level = {}\n", toml_string(table.level));
  text += fmt::format("source = {}\npoints = [\n", toml_string(table.source));
  for (const auto& [bytes, seconds] : table.points)
    text += fmt::format("  [{:.6g}, {:.4g}],\n", bytes, seconds);
  return text + "]\n";
}

std::string_view name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::Ring:
      return "ring";
    case CollectiveAlgorithm::Tree:
      return "tree";
    case CollectiveAlgorithm::Hierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::Fastest:
      break;
  }
  return "fastest";
}

}  // namespace

std::string to_toml(const Cluster& cluster) {
  std::string text = fmt::format(
      "# SPDX-License-Identifier: Apache-2.0\nname = {}\n"
      "calibrated = {}\n",
      toml_string(cluster.name), cluster.calibrated);
  if (!cluster.unknown.empty()) {
    text += "unknown = [\n";
    for (const std::string& each : cluster.unknown)
      text += fmt::format("  {},\n", toml_string(each));
    text += "]\n";
  }
  text += fmt::format("\n[rules]\nalgorithm = \"{}\"\nmoves_in_wait = {}\n",
                      name(cluster.algorithm), cluster.moves_in_wait);
  text += text_of(cluster.device);
  if (cluster.host) text += text_of(*cluster.host);
  for (const Level& level : cluster.levels) text += text_of(level);
  for (const EfficiencyTable& table : cluster.efficiencies) text += text_of(table);
  for (const CollectiveTable& table : cluster.collectives) text += text_of(table);
  return text;
}

}  // namespace tessera
