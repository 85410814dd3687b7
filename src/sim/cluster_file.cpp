// SPDX-License-Identifier: Apache-2.0
// Cluster files: parsed strictly, so that a misspelt key or a figure without a source is rejected.
// All missing keys are reported at once.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/choices.h"
#include "core/error.h"
#include "files/toml_document.h"
#include "sim/cluster.h"
#include "sim/cluster_base.h"
#include "sim/cluster_section.h"
#include "sim/efficiencies_of.h"

namespace tessera {
namespace {

using Kind = TomlValue::Kind;
using FileContext = ClusterFileContext;
using Section = ClusterSection;

constexpr std::array<std::string_view, 4> kAlgorithms{"fastest", "ring", "tree", "hierarchical"};

ClusterDevice read_device(const TomlValue& table, FileContext& file) {
  Section section(table, "[device]", file);
  ClusterDevice device{.name = section.text("name"),
                       .cores = section.count("cores", 0),
                       .peak_flops = {},
                       .memory_bytes = section.positive("memory_bytes"),
                       .memory_bandwidth = section.positive("memory_bandwidth"),
                       .reserve_bytes = section.figure("reserve_bytes", {0, "none"}),
                       .launch_seconds = section.figure("launch_seconds"),
                       .cool_gain = section.figure("cool_gain", {1, "none"}),
                       .overlap_slowdown = section.figure("overlap_slowdown", {0, "none"})};
  if (device.cool_gain.value < 1)
    section.fail(*section.find("cool_gain"),
                 fmt::format("cool_gain is {}: it must be 1 or more", device.cool_gain.value));
  if (device.reserve_bytes.value >= device.memory_bytes.value && device.reserve_bytes.value > 0)
    section.fail(*section.find("reserve_bytes"),
                 fmt::format("reserve_bytes is {:g}, and memory_bytes {:g}: nothing is left",
                             device.reserve_bytes.value, device.memory_bytes.value));
  const TomlValue* peaks = section.need("peak_flops");
  if (peaks != nullptr)
    for (const auto& [key, node] : peaks->entries) {
      const auto arithmetic = arithmetic_from_name(key);
      if (!arithmetic)
        section.fail(node, fmt::format("peak_flops.{}: there is no such arithmetic", key),
                     "use fp8, bf16, fp32 or fp64");
      device.peak_flops.emplace_back(*arithmetic, section.figure(node, key));
      section.check_positive(node, fmt::format("peak_flops.{}", key),
                             device.peak_flops.back().second.value);
    }
  if (peaks != nullptr && device.peak_flops.empty())
    section.fail(*peaks, "peak_flops is empty", "give those of fp8, bf16, fp32 or fp64");
  section.done();
  return device;
}

HostLink read_host(const TomlValue& table, FileContext& file) {
  Section section(table, "[host]", file);
  HostLink host{.bandwidth = section.positive("bandwidth"),
                .both_ways = section.positive("both_ways"),
                .memory_bytes = section.positive("memory_bytes"),
                .memory_bandwidth = section.positive("memory_bandwidth"),
                .devices = section.count("devices"),
                .link_devices = section.find("link_devices") ? section.count("link_devices") : 1};
  const double one = host.bandwidth.value, both = host.both_ways.value;
  if (section.find("both_ways") && (both < one || both > 2 * one))
    section.fail(table, fmt::format("both_ways is {} and bandwidth {}: it must be between that and "
                                    "twice that",
                                    both, one));
  if (host.link_devices > host.devices)
    section.fail(table, fmt::format("link_devices is {}, but a host has {} devices",
                                    host.link_devices, host.devices));
  section.done();
  return host;
}

std::vector<int> read_torus(Section& section) {
  std::vector<int> sizes;
  const TomlValue* node = section.find("torus");
  if (node == nullptr) return sizes;
  constexpr size_t kMostDims = 4;
  constexpr int64_t kMostUnits = 1 << 16;
  for (const TomlValue& size : node->items)
    if (size.kind == Kind::Integer && size.integer >= 1 && size.integer <= kMostUnits)
      sizes.push_back(static_cast<int>(size.integer));
  if (sizes.empty() || sizes.size() != node->items.size() || sizes.size() > kMostDims)
    section.fail(*node, "torus is not a list of one to four sizes",
                 "give the units along each dimension, such as torus = [16, 16]");
  return sizes;
}

Level read_level(Section& section) {
  Level level{
      .name = section.text("name"),
      .ranks = section.count("ranks"),
      .bandwidth = section.positive("bandwidth"),
      .latency_seconds = section.figure("latency_seconds"),
      .oversubscription = section.figure("oversubscription", {1, "none"}),
      .ramp_bytes = section.figure("ramp_bytes", {0, "none"}),
      .send_bandwidth = section.figure("send_bandwidth", {0, "as bandwidth"}),
      .torus = read_torus(section),
      .fully_connected = section.find("fully_connected") && section.flag("fully_connected")};
  if (level.fully_connected && !level.torus.empty())
    section.fail(*section.find("torus"),
                 fmt::format("level {} is fully connected and a torus: it can only be one of them",
                             level.name));
  if (level.oversubscription.value < 1)
    section.fail(*section.find("oversubscription"),
                 fmt::format("level {}: oversubscription is {}: it must be 1 or more", level.name,
                             level.oversubscription.value));
  return level;
}

// None: "other".
std::optional<OpKind> read_op(Section& section) {
  const std::string text = section.text("op");
  const std::optional<OpKind> op = op_from_name(text);
  if (const TomlValue* node = section.find("op"); node && text != kOtherOps && !op)
    section.fail(*node, fmt::format("there is no op {}", text), "`tessera docs ops` lists them");
  return op;
}

EfficiencyCurve read_curve(const Section& section, const TomlValue& node) {
  EfficiencyCurve curve;
  const std::array<std::pair<std::string_view, double*>, 4> parts{
      {{"ceiling", &curve.ceiling},
       {"memory", &curve.memory},
       {"fill_seconds", &curve.fill_seconds},
       {"narrow", &curve.narrow}}};
  for (const auto& [key, value] : node.entries) {
    const auto* part = std::ranges::find(parts, key, &std::pair<std::string_view, double*>::first);
    if (part == parts.end())
      section.fail(value, fmt::format("a curve has no {}", key),
                   "give ceiling, memory, fill_seconds and narrow");
    *part->second = section.number(value, key);
  }
  section.check_positive(node, "the ceiling of a curve", curve.ceiling);
  section.check_positive(node, "the memory of a curve", curve.memory);
  return curve;
}

EfficiencyTable read_efficiency(Section& section) {
  EfficiencyTable table{.op = read_op(section),
                        .threads = section.count("threads", 0),
                        .busy_ranks = section.count("busy_ranks", 0),
                        .source = section.text("source"),
                        .kernel = section.find("kernel") ? section.text("kernel") : ""};
  const TomlValue* curve = section.find("curve");
  if (curve != nullptr) table.curve = read_curve(section, *curve);
  if (curve != nullptr && section.find("points"))
    section.fail(*curve, "an [[efficiency]] has points and a curve", "leave one of them out");
  if (curve != nullptr) return table;
  for (const auto& row : section.rows("points", 4)) {
    section.check_positive(*section.find("points"),
                           fmt::format("an efficiency of {}", op_text(table)), row[3]);
    table.points.push_back({{row[0], row[1], row[2]}, row[3]});
  }
  return table;
}

CollectiveOp read_collective_op(Section& section) {
  const std::string text = section.text("op");
  const auto op = collective_from_name(text);
  if (const TomlValue* node = section.find("op"); node && !op)
    section.fail(*node, fmt::format("there is no collective {}", text),
                 fmt::format("use one of {}", fmt::join(kCollectiveOpNames, ", ")));
  return op.value_or(CollectiveOp::AllReduce);
}

CollectiveTable read_collective(Section& section) {
  CollectiveTable table{.op = read_collective_op(section),
                        .ranks = section.count("ranks", 2),
                        .source = section.text("source"),
                        .points = {},
                        .level = section.find("level") ? section.text("level") : ""};
  for (const auto& row : section.rows("points", 2)) table.points.emplace_back(row[0], row[1]);
  std::ranges::stable_sort(table.points, {}, &std::pair<double, double>::first);
  return table;
}

// Every table of the array [[name]].
template <typename Read>
auto read_all(Section& top, const std::string& name, FileContext& file, Read read) {
  std::vector<decltype(read(top))> all;
  const TomlValue* node = top.find(name);
  if (node == nullptr) return all;
  if (node->kind != Kind::List) top.fail(*node, fmt::format("write [[{}]]", name));
  for (const TomlValue& each : node->items) {
    if (each.kind != Kind::Table) top.fail(each, fmt::format("write [[{}]]", name));
    Section section(each, fmt::format("the [[{}]] of line {}", name, each.line), file);
    all.push_back(read(section));
    section.done();
  }
  return all;
}

void read_rules(const TomlValue& table, FileContext& file, Cluster& cluster) {
  Section section(table, "[rules]", file);
  const std::string algorithm = section.text("algorithm");
  if (const TomlValue* node = section.find("algorithm")) {
    const auto known = std::find(kAlgorithms.begin(), kAlgorithms.end(), algorithm);
    if (known == kAlgorithms.end())
      section.fail(*node, fmt::format("there is no algorithm {}", algorithm),
                   "use fastest, ring, tree or hierarchical");
    cluster.algorithm = static_cast<CollectiveAlgorithm>(known - kAlgorithms.begin());
  }
  cluster.moves_in_wait = section.flag("moves_in_wait");
  section.done();
}

constexpr int64_t kMostRanks = 1 << 24;

void check_torus(const Section& top, const TomlValue& place, const Level& level, int inner) {
  if (level.torus.empty()) return;
  int64_t ranks = inner;
  for (const int size : level.torus) ranks = std::min(ranks * size, kMostRanks + 1);
  if (ranks != level.ranks)
    top.fail(place,
             fmt::format("level {} has {} ranks, but its torus of {} units of {} has {}",
                         level.name, level.ranks, fmt::join(level.torus, "x"), inner, ranks),
             fmt::format("write ranks = {}, or other sizes", ranks));
}

void check_nesting(const Section& top, const TomlValue& tables, const std::vector<Level>& levels) {
  for (size_t i = 0; i < levels.size(); ++i) {
    const int inner = i == 0 ? 1 : levels[i - 1].ranks;
    if (levels[i].ranks < inner || levels[i].ranks % inner != 0)
      top.fail(*tables.items[i].find("ranks"),
               fmt::format("level {} has {} ranks: not a multiple of the {} of the level inside it",
                           levels[i].name, levels[i].ranks, inner),
               "list levels from the innermost: a node, then a group of nodes");
    check_torus(top, *tables.items[i].find("ranks"), levels[i], inner);
  }
}

void check_levels(const Section& top, const TomlValue& tables, const Cluster& cluster) {
  for (size_t i = 0; i < cluster.collectives.size(); ++i) {
    const std::string& name = cluster.collectives[i].level;
    std::vector<std::string> known;
    for (const Level& level : cluster.levels) known.push_back(level.name);
    if (!name.empty() && std::ranges::find(known, name) == known.end())
      top.fail(*tables.items[i].find("level"), fmt::format("there is no level {}", name),
               fmt::format("use {}", join_choices(known)));
  }
}

std::vector<std::string> read_unknown(Section& top) {
  std::vector<std::string> sentences;
  const TomlValue* node = top.find("unknown");
  if (node == nullptr) return sentences;
  for (const TomlValue& each : node->items)
    if (each.kind == Kind::Text) sentences.push_back(each.text);
  if (sentences.empty() || sentences.size() != node->items.size())
    top.fail(*node, "unknown is not a list of sentences",
             "write unknown = [\"no kernel was measured\"]");
  return sentences;
}

// [efficiencies_of]: the tables of a built-in cluster, for ops that the file has none for.
void read_efficiencies_of(Section& top, FileContext& file, Cluster& cluster) {
  const TomlValue* node = top.find("efficiencies_of");
  if (node == nullptr) return;
  if (node->kind != Kind::Table) top.fail(*node, "efficiencies_of is not a table");
  Section section(*node, "[efficiencies_of]", file);
  const std::string name = section.text("cluster");
  const Figure products = section.figure("products", {1, "none"});
  if (const TomlValue* each = section.find("products"))
    section.check_positive(*each, "products", products.value);
  section.done();
  const std::vector<std::string> known = cluster_names();
  if (name.empty()) return;
  if (std::ranges::find(known, name) == known.end())
    section.fail(*section.find("cluster"), fmt::format("there is no built-in cluster {}", name),
                 cluster_choices(name));
  add_efficiencies_of(cluster, name, products);
}

Cluster read(const TomlValue& table, const std::string& origin) {
  FileContext file{.origin = origin};
  Section top(table, "the file", file);
  top.find("based_on");  // read by with_base()
  Cluster cluster{.name = top.text("name"), .calibrated = top.flag("calibrated")};
  const TomlValue empty;  // read in place of a missing table, so that its keys are reported
  const auto inner = [&](std::string_view name) -> const TomlValue& {
    const TomlValue* node = top.find(name);
    if (node == nullptr) return empty;
    if (node->kind != Kind::Table) top.fail(*node, fmt::format("{} is not a table", name));
    return *node;
  };
  cluster.device = read_device(inner("device"), file);
  if (const TomlValue* host = top.find("host")) {
    if (host->kind != Kind::Table) top.fail(*host, "host is not a table");
    cluster.host = read_host(*host, file);
  }
  read_rules(inner("rules"), file, cluster);
  cluster.levels = read_all(top, "level", file, read_level);
  cluster.efficiencies = read_all(top, "efficiency", file, read_efficiency);
  cluster.collectives = read_all(top, "collective", file, read_collective);
  cluster.unknown = read_unknown(top);
  read_efficiencies_of(top, file, cluster);
  top.done();
  if (cluster.levels.empty()) file.missing.add("the file", 0, "[[level]]");
  const auto is_other = [](const EfficiencyTable& each) { return !each.op; };
  if (std::none_of(cluster.efficiencies.begin(), cluster.efficiencies.end(), is_other))
    file.missing.add("the file", 0, "[[efficiency]] of op = \"other\", for ops without their own");
  file.missing.refuse(origin);
  check_nesting(top, *top.find("level"), cluster.levels);
  if (const TomlValue* tables = top.find("collective")) check_levels(top, *tables, cluster);
  return cluster;
}

}  // namespace

Cluster parse_cluster(std::string_view toml, const std::string& origin) {
  return read(with_base(parse_toml(toml, origin, kTemplateHelp), origin), origin);
}

}  // namespace tessera
