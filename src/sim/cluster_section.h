// SPDX-License-Identifier: Apache-2.0
// One table of a cluster file, read key by key: a misspelt key, a figure without a source and a
// value out of bounds are refused where they stand; missing keys are told of all at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/choices.h"
#include "core/error.h"
#include "files/toml_document.h"
#include "sim/cluster.h"

namespace tessera {

// Figures outside these bounds are rejected; times and sizes computed from those inside are finite.
inline constexpr double kLeastFigure = 1e-18, kMostFigure = 1e18;

inline constexpr const char* kTemplateHelp = "`tessera docs cluster` prints a file with every key";

// Keys that the file lacks, by section.
class MissingClusterKeys {
 public:
  void add(const std::string& section, int line, std::string_view key) {
    if (sections_.empty() || sections_.back().title != section)
      sections_.push_back({section, line, std::string(key)});
    else
      sections_.back().keys += fmt::format(", {}", key);
  }

  void refuse(const std::string& origin) const {
    if (sections_.empty()) return;
    std::string message;
    for (const MissingOfSection& each : sections_)
      message += fmt::format("{}{} has no {}", message.empty() ? "" : "; ", each.title, each.keys);
    const int line = sections_.front().line;
    throw UserError(message)
        .at(line == 0 ? origin : fmt::format("{}:{}", origin, line))
        .help(kTemplateHelp);
  }

 private:
  struct MissingOfSection {
    std::string title;
    int line;
    std::string keys;
  };
  std::vector<MissingOfSection> sections_;
};

// What all sections of one file share.
struct ClusterFileContext {
  const std::string& origin;
  MissingClusterKeys missing = {};
};

// One table of the file; every key must be read. A missing key is recorded, and replaced by a valid
// value.
class ClusterSection {
 public:
  ClusterSection(const TomlValue& table, std::string title, ClusterFileContext& file)
      : table_(table), title_(std::move(title)), file_(file) {}

  const TomlValue* find(std::string_view key) {
    asked_.emplace_back(key);
    return table_.find(key);
  }
  const TomlValue* need(std::string_view key) {
    const TomlValue* node = find(key);
    if (node == nullptr) file_.missing.add(title_, table_.line, key);
    return node;
  }

  std::string text(std::string_view key) {
    const TomlValue* node = need(key);
    if (node == nullptr) return "";
    if (node->kind != TomlValue::Kind::Text) fail(*node, fmt::format("{} is not a string", key));
    return node->text;
  }
  double number(const TomlValue& node, std::string_view key) const {
    const bool is_number =
        node.kind == TomlValue::Kind::Integer || node.kind == TomlValue::Kind::Number;
    if (!is_number || !(node.number >= 0 && node.number <= kMostFigure))
      fail(node, fmt::format("{} is not a number from 0 to {}", key, kMostFigure));
    return std::abs(node.number);  // of -0, too
  }
  int count(std::string_view key) { return count(need(key), key, 1); }
  int count(std::string_view key, int fallback) { return count(find(key), key, fallback); }
  bool flag(std::string_view key) {
    const TomlValue* node = need(key);
    if (node == nullptr) return false;
    if (node->kind != TomlValue::Kind::Flag)
      fail(*node, fmt::format("{} is not true or false", key));
    return node->flag;
  }

  Figure figure(std::string_view key) {
    const TomlValue* node = need(key);
    return node ? figure(*node, key) : Figure{};
  }
  Figure positive(std::string_view key) {
    const TomlValue* node = need(key);
    if (node == nullptr) return {};
    Figure read = figure(*node, key);
    check_positive(*node, key, read.value);
    return read;
  }
  Figure figure(std::string_view key, Figure fallback) {
    const TomlValue* node = find(key);
    return node ? figure(*node, key) : fallback;
  }
  Figure figure(const TomlValue& node, std::string_view key) const {
    const TomlValue *value = node.find("value"), *source = node.find("source");
    if (value == nullptr || source == nullptr || source->kind != TomlValue::Kind::Text ||
        node.entries.size() != 2)
      fail(node, fmt::format("{} has no value and source", key),
           fmt::format("write {} = {{ value = 1e9, source = \"assumed\" }}", key));
    return {number(*value, key), source->text};
  }

  void check_positive(const TomlValue& node, std::string_view what, double number) const {
    if (number < kLeastFigure)
      fail(node, fmt::format("{} is {}: it must be above 0", what, number));
  }

  // Rows of `columns` numbers each.
  std::vector<std::vector<double>> rows(std::string_view key, size_t columns) {
    const TomlValue* node = need(key);
    std::vector<std::vector<double>> rows;
    if (node == nullptr) return rows;
    for (const TomlValue& row : node->items) {
      if (row.items.size() != columns)
        fail(row, fmt::format("a point of {} does not have {} numbers", title_, columns));
      rows.emplace_back();
      for (const TomlValue& cell : row.items) rows.back().push_back(number(cell, key));
    }
    if (rows.empty()) fail(*node, fmt::format("{} has no points", title_));
    return rows;
  }

  void done() const {
    for (const auto& [key, node] : table_.entries) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
      const std::string near = nearest_name(key, asked_);
      fail(node, fmt::format("unknown key {} in {}", key, title_),
           near.empty() ? kTemplateHelp : fmt::format("did you mean {}?", near));
    }
  }

  [[noreturn]] void fail(const TomlValue& node, const std::string& message,
                         const std::string& help = kTemplateHelp) const {
    throw UserError(message).at(fmt::format("{}:{}", file_.origin, node.line)).help(help);
  }

 private:
  int count(const TomlValue* node, std::string_view key, int fallback) const {
    if (node == nullptr) return fallback;
    if (node->kind != TomlValue::Kind::Integer || node->integer < 0 || node->integer > 1 << 24)
      fail(*node, fmt::format("{} is not an integer from 0 to {}", key, 1 << 24));
    return static_cast<int>(node->integer);
  }

  const TomlValue& table_;
  std::string title_;
  ClusterFileContext& file_;
  std::vector<std::string> asked_;
};

}  // namespace tessera
