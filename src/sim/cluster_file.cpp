// SPDX-License-Identifier: Apache-2.0
// Cluster files: read strictly, so that a misspelt key or a figure without a source is refused.
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/one_of.h"
#include "files/safe_toml.h"
#include "ir/op_kind.h"
#include "sim/cluster.h"

namespace tessera {
namespace {

// No figure of a cluster lies outside; times and sizes made of those inside are finite.
constexpr double kLeast = 1e-18, kMost = 1e18;

constexpr std::array<std::string_view, 4> kAlgorithms{"fastest", "ring", "tree", "hierarchical"};

// One table of the file; every key must be asked for.
class Section {
 public:
  Section(const toml::table& table, std::string name, const std::string& origin)
      : table_(table), name_(std::move(name)), origin_(origin) {}

  const toml::node* find(std::string_view key) {
    asked_.emplace_back(key);
    return table_.get(key);
  }
  const toml::node& need(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) fail(table_, fmt::format("{} has no {}", title(), key));
    return *node;
  }

  std::string text(std::string_view key) {
    const toml::node& node = need(key);
    if (!node.is_string()) fail(node, fmt::format("{} is not a text", key));
    return node.as_string()->get();
  }
  double number(const toml::node& node, std::string_view key) const {
    const auto value = node.value<double>();
    if (!node.is_number() || !value || !(*value >= 0 && *value <= kMost))
      fail(node, fmt::format("{} is not a number from 0 to {}", key, kMost));
    return std::abs(*value);  // of -0, too
  }
  int count(std::string_view key, int fallback) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    const auto value = node->value_exact<int64_t>();
    if (!value || *value < 0 || *value > 1 << 24)
      fail(*node, fmt::format("{} is not a whole number from 0 to {}", key, 1 << 24));
    return static_cast<int>(*value);
  }
  bool flag(std::string_view key) {
    const toml::node& node = need(key);
    if (!node.is_boolean()) fail(node, fmt::format("{} is not true or false", key));
    return node.as_boolean()->get();
  }

  Figure figure(std::string_view key) { return figure(need(key), key); }
  Figure positive(std::string_view key) {
    Figure read = figure(key);
    check_positive(need(key), key, read.value);
    return read;
  }
  Figure figure(std::string_view key, Figure fallback) {
    const toml::node* node = find(key);
    return node ? figure(*node, key) : fallback;
  }
  Figure figure(const toml::node& node, std::string_view key) const {
    const toml::table* inner = node.as_table();
    const toml::node* value = inner ? inner->get("value") : nullptr;
    const toml::node* source = inner ? inner->get("source") : nullptr;
    if (value == nullptr || source == nullptr || !source->is_string() || inner->size() != 2)
      fail(node, fmt::format("{} has no value and source", key),
           fmt::format("write {} = {{ value = 1e9, source = \"assumed\" }}", key));
    return {number(*value, key), source->as_string()->get()};
  }

  void check_positive(const toml::node& node, std::string_view what, double number) const {
    if (number < kLeast) fail(node, fmt::format("{} is {}: it must be above 0", what, number));
  }

  // Rows of `columns` numbers each.
  std::vector<std::vector<double>> rows(std::string_view key, size_t columns) {
    const toml::node& node = need(key);
    std::vector<std::vector<double>> rows;
    if (const toml::array* array = node.as_array())
      for (const toml::node& row : *array) {
        const toml::array* cells = row.as_array();
        if (cells == nullptr || cells->size() != columns)
          fail(row, fmt::format("a point of {} has not {} numbers", title(), columns));
        rows.emplace_back();
        for (const toml::node& cell : *cells) rows.back().push_back(number(cell, key));
      }
    if (rows.empty()) fail(node, fmt::format("{} has no points", title()));
    return rows;
  }

  void done() const {
    for (const auto& [key, node] : table_)
      if (std::find(asked_.begin(), asked_.end(), key.str()) == asked_.end())
        fail(node, fmt::format("unknown key {} in {}", key.str(), title()));
  }

  [[noreturn]] void fail(const toml::node& node, const std::string& message,
                         const std::string& help = "see docs/simulator.md") const {
    throw UserError(message).at(fmt::format("{}:{}", origin_, node.source().begin.line)).help(help);
  }

 private:
  std::string title() const { return name_.empty() ? "the file" : "[" + name_ + "]"; }

  const toml::table& table_;
  std::string name_;
  const std::string& origin_;
  std::vector<std::string> asked_;
};

Device read_device(const toml::table& table, const std::string& origin) {
  Section section(table, "device", origin);
  Device device{.name = section.text("name"),
                .cores = section.count("cores", 0),
                .peak_flops = {},
                .memory_bytes = section.positive("memory_bytes"),
                .memory_bandwidth = section.positive("memory_bandwidth"),
                .launch_seconds = section.figure("launch_seconds"),
                .overlap_slowdown = section.figure("overlap_slowdown", {0, "none"})};
  const toml::node& peaks = section.need("peak_flops");
  if (const toml::table* inner = peaks.as_table())
    for (const auto& [key, node] : *inner) {
      const auto dtype = dtype_from_name(key.str());
      if (!dtype || !is_float(*dtype))
        section.fail(node, fmt::format("peak_flops.{}: there is no such dtype", key.str()),
                     "use fp32, bf16 or fp64");
      device.peak_flops.emplace_back(*dtype, section.figure(node, key.str()));
      section.check_positive(node, fmt::format("peak_flops.{}", key.str()),
                             device.peak_flops.back().second.value);
    }
  if (device.peak_flops.empty()) section.fail(peaks, "peak_flops names no dtype");
  section.done();
  return device;
}

Level read_level(Section& section) {
  return {.name = section.text("name"),
          .ranks = section.count("ranks", 0),
          .bandwidth = section.positive("bandwidth"),
          .latency_seconds = section.figure("latency_seconds"),
          .oversubscription = section.figure("oversubscription", {1, "none"})};
}

void check_op(const Section& section, const toml::node& node, const std::string& op) {
  if (op != "other" && !op_from_name(op))
    section.fail(node, fmt::format("there is no op {}", op), "`tessera docs ops` lists them");
}

EfficiencyTable read_efficiency(Section& section) {
  EfficiencyTable table{.op = section.text("op"),
                        .threads = section.count("threads", 0),
                        .busy_ranks = section.count("busy_ranks", 0),
                        .source = section.text("source"),
                        .points = {}};
  const toml::node& op = section.need("op");
  check_op(section, op, table.op);
  for (const auto& row : section.rows("points", 4)) {
    section.check_positive(op, fmt::format("an efficiency of {}", table.op), row[3]);
    table.points.push_back({{row[0], row[1], row[2]}, row[3]});
  }
  return table;
}

CollectiveTable read_collective(Section& section) {
  CollectiveTable table{.op = section.text("op"),
                        .ranks = section.count("ranks", 2),
                        .source = section.text("source"),
                        .points = {}};
  check_op(section, section.need("op"), table.op);
  for (const auto& row : section.rows("points", 2)) table.points.emplace_back(row[0], row[1]);
  std::ranges::stable_sort(table.points, {}, &std::pair<double, double>::first);
  return table;
}

// Every table of the array [[name]].
template <typename Read>
auto read_all(Section& file, const std::string& name, const std::string& origin, Read read) {
  std::vector<decltype(read(file))> all;
  const toml::node* node = file.find(name);
  const toml::array* array = node ? node->as_array() : nullptr;
  if (node != nullptr && array == nullptr) file.fail(*node, fmt::format("write [[{}]]", name));
  if (array == nullptr) return all;
  for (const toml::node& each : *array) {
    if (!each.is_table()) file.fail(each, fmt::format("write [[{}]]", name));
    Section section(*each.as_table(), name, origin);
    all.push_back(read(section));
    section.done();
  }
  return all;
}

void read_rules(const toml::table& table, const std::string& origin, Cluster& cluster) {
  Section section(table, "rules", origin);
  const std::string algorithm = section.text("algorithm");
  const auto known = std::find(kAlgorithms.begin(), kAlgorithms.end(), algorithm);
  if (known == kAlgorithms.end())
    section.fail(section.need("algorithm"), fmt::format("there is no algorithm {}", algorithm),
                 "use fastest, ring, tree or hierarchical");
  cluster.algorithm = static_cast<CollectiveAlgorithm>(known - kAlgorithms.begin());
  cluster.moves_in_wait = section.flag("moves_in_wait");
  section.done();
}

void check_levels(Section& file, const toml::table& table, const std::vector<Level>& levels) {
  if (levels.empty()) file.fail(table, "the file has no [[level]]");
  for (size_t i = 0; i < levels.size(); ++i) {
    const int inner = i == 0 ? 1 : levels[i - 1].ranks;
    if (levels[i].ranks < inner || levels[i].ranks % inner != 0)
      file.fail(table, fmt::format("level {} has {} ranks: not a multiple of the {} of the level "
                                   "inside it",
                                   levels[i].name, levels[i].ranks, inner));
    if (levels[i].oversubscription.value < 1)
      file.fail(table, fmt::format("level {}: oversubscription is {}: it must be 1 or more",
                                   levels[i].name, levels[i].oversubscription.value));
  }
}

Cluster read(const toml::table& table, const std::string& origin) {
  Section file(table, "", origin);
  Cluster cluster{.name = file.text("name"), .calibrated = file.flag("calibrated")};
  const auto inner = [&](std::string_view name) -> const toml::table& {
    const toml::node& node = file.need(name);
    if (!node.is_table()) file.fail(node, fmt::format("{} is not a table", name));
    return *node.as_table();
  };
  cluster.device = read_device(inner("device"), origin);
  read_rules(inner("rules"), origin, cluster);
  cluster.levels = read_all(file, "level", origin, read_level);
  cluster.efficiencies = read_all(file, "efficiency", origin, read_efficiency);
  cluster.collectives = read_all(file, "collective", origin, read_collective);
  file.done();
  check_levels(file, table, cluster.levels);
  const auto is_other = [](const EfficiencyTable& each) { return each.op == "other"; };
  if (std::none_of(cluster.efficiencies.begin(), cluster.efficiencies.end(), is_other))
    file.fail(table, "the file has no [[efficiency]] of op = \"other\"",
              "ops without a table of their own need one");
  return cluster;
}

}  // namespace

Cluster parse_cluster(std::string_view toml, const std::string& origin) {
  try {
    require_safe_toml(toml, origin);
    const toml::table table = toml::parse(toml, origin);
    return read(table, origin);
  } catch (const toml::parse_error& error) {
    throw user_error("{} is not TOML: {}", origin, error.description())
        .at(fmt::format("{}:{}:{}", origin, error.source().begin.line, error.source().begin.column))
        .help("clusters/llama3-h100.toml is an example");
  }
}

}  // namespace tessera
