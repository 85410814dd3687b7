// SPDX-License-Identifier: Apache-2.0
// tessera clusters: the clusters that simulate and plan know, or one of them with its levels,
// links, figures and their sources.
#include <algorithm>
#include <memory>

#include "cli/cluster_option.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "studio/cluster_json.h"
#include "studio/pictures/cluster_svg.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Without a name: all built-in clusters. A level that is no torus and not fully connected has "
    "a\n"
    "switch; its bandwidth is that of one rank, one way, else that of one link.\n"
    "Examples:\n"
    "  tessera clusters\n"
    "  tessera clusters tpu-v5p\n"
    "  tessera clusters mi300x --svg mi300x.svg\n"
    "  tessera clusters my-cluster.toml --json\n"
    "  tessera docs cluster > my-cluster.toml                  a start for your own";

struct ClustersCommand {
  std::optional<std::string> cluster;
  std::string svg;
  bool json = false;
};

// "667 T", "2.9 T"; figures of bytes and flops per second.
std::string tera(double value) { return fmt::format("{:.4g} T", value / 1e12); }

std::string levels_text(const Cluster& cluster) {
  std::vector<std::string> words;
  for (const Level& level : cluster.levels)
    words.push_back(fmt::format("{} {}", level.ranks, level.name));
  return fmt::format("{}", fmt::join(words, ", "));
}

void print_all() {
  fmt::print("{:<13} {:<28} {:>9} {:>9} {:>9}  {:<12} {}\n", "cluster", "device", "memory",
             "bytes/s", "bf16/s", "calibrated", "ranks of its levels");
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    const ClusterDevice& device = cluster.device;
    fmt::print("{:<13} {:<28} {:>9} {:>9} {:>9}  {:<12} {}\n", name, device.name,
               short_bytes(static_cast<int64_t>(device.memory_bytes.value)),
               tera(device.memory_bandwidth.value), tera(device.peak(Arithmetic::Bf16)),
               cluster.calibrated ? "yes" : "no", levels_text(cluster));
  }
}

void print_figure(const std::string& what, const std::string& value, const Figure& figure) {
  fmt::print("  {:<18} {:>12}  {}\n", what, value, figure.source);
}

void print_device(const ClusterDevice& device) {
  fmt::print("\ndevice: {}{}\n", device.name,
             device.cores > 0 ? fmt::format(", {} cores that all ranks share", device.cores) : "");
  print_figure("memory", short_bytes(static_cast<int64_t>(device.memory_bytes.value)),
               device.memory_bytes);
  print_figure("of it not usable", short_bytes(static_cast<int64_t>(device.reserve_bytes.value)),
               device.reserve_bytes);
  print_figure("memory bandwidth", tera(device.memory_bandwidth.value) + "B/s",
               device.memory_bandwidth);
  for (const auto& [arithmetic, figure] : device.peak_flops)
    print_figure(fmt::format("peak {}", name(arithmetic)), tera(figure.value) + "flop/s", figure);
  print_figure("launch", fmt::format("{:.3g} us", device.launch_seconds.value * 1e6),
               device.launch_seconds);
  print_figure("overlap slowdown", fmt::format("{:.3g}", device.overlap_slowdown.value),
               device.overlap_slowdown);
}

void print_levels(const Cluster& cluster) {
  fmt::print("\nlevels, the outermost first:\n");
  for (size_t i = cluster.levels.size(); i-- > 0;) {
    const Level& level = cluster.levels[i];
    const std::string indent((cluster.levels.size() - i) * 2, ' ');
    fmt::print("{}{}: {} ranks, {}\n", indent, level.name, level.ranks, wiring_text(cluster, i));
    fmt::print("{}  {}   {}\n", indent, rate_text(level), level.bandwidth.source);
  }
}

void print_one(const Cluster& cluster) {
  fmt::print("{}: up to {} ranks\n", cluster.name, cluster.levels.back().ranks);
  if (cluster.calibrated) fmt::print("calibrated: its kernels were measured\n");
  print_trust(cluster);
  for (const std::string& each : cluster.unknown) fmt::print("not known: {}\n", each);
  print_device(cluster.device);
  print_levels(cluster);
  fmt::print("\nefficiencies:\n");
  for (const EfficiencyTable& table : cluster.efficiencies)
    fmt::print("  {:<18} {:>3} point{}  {}\n", op_text(table), table.points.size(),
               table.points.size() == 1 ? " " : "s", table.source);
  for (const CollectiveTable& table : cluster.collectives)
    fmt::print("  {:<18} {:>3} points of {} ranks  {}\n", name(table.op), table.points.size(),
               table.ranks, table.source);
}

Cluster asked_cluster(const std::string& name) {
  try {
    return load_cluster(name);
  } catch (UserError& error) {
    if (error.place().starts_with("--cluster")) throw std::move(error).at("clusters " + name);
    throw;
  }
}

void run(const ClustersCommand& command) {
  if (!command.cluster) {
    if (!command.json) return print_all();
    Json all = Json::array();
    for (const std::string& each : cluster_names()) all.push_back(to_json(load_cluster(each)));
    return print_json({{"clusters", all}});
  }
  const Cluster cluster = asked_cluster(*command.cluster);
  if (!command.svg.empty()) write_file_atomically(command.svg, cluster_svg(cluster));
  if (command.json) return print_json(to_json(cluster));
  print_one(cluster);
}

}  // namespace

void add_clusters_command(Command app) {
  auto command = std::make_shared<ClustersCommand>();
  const Command clusters =
      app.add_subcommand("clusters", "list and draw the clusters that simulate and plan know");
  clusters.footer(kFooter);
  const Option cluster =
      clusters.add_option("cluster", command->cluster, "one of them, or a file: all of its figures")
          .type_name("NAME|FILE");
  clusters.add_option("--svg", command->svg, "draw its levels and links")
      .type_name("FILE")
      .needs(cluster);
  add_json_flag(clusters, command->json);
  clusters.on_run([command] { run(*command); });
}

}  // namespace tessera
