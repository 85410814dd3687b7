// SPDX-License-Identifier: Apache-2.0
#include "record/rank_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "files/json.h"

namespace tessera {
namespace {

constexpr int kDeepestRankLine = 3;
constexpr int64_t kMostLineRanks = 1 << 24;
constexpr double kMostLineSeconds = 1e9;

std::string list_of(const std::vector<double>& seconds) {
  std::string text;
  for (const double each : seconds) text += fmt::format("{}{:.4g}", text.empty() ? "" : ",", each);
  return text;
}

int64_t whole_of(const Json& json, std::string_view name) {
  const Json* found = json.find(name);
  return found ? found->integer().value_or(0) : 0;
}

bool read_seconds(const Json& json, std::string_view name, std::vector<double>& seconds) {
  const Json* found = json.find(name);
  if (!found || found->items().size() > kMostRankRows) return false;
  for (const Json& item : found->items()) {
    const std::optional<double> number = item.number();
    if (!number || !(std::abs(*number) <= kMostLineSeconds)) return false;
    seconds.push_back(*number);
  }
  return true;
}

bool read_rows(const Json& json, RankLine& line) {
  const Json* found = json.find("rank");
  if (!found)
    for (size_t i = 0; i < line.compute_seconds.size(); ++i)
      line.rank.push_back(static_cast<int>(i));
  for (const Json& item : found ? found->items() : std::span<const Json>()) {
    const int64_t rank = item.integer().value_or(-1);
    if (rank < 0 || rank >= line.ranks || line.rank.size() >= kMostRankRows) return false;
    line.rank.push_back(static_cast<int>(rank));
  }
  return line.rank.size() == line.compute_seconds.size();
}

}  // namespace

void RankSums::add(std::span<const RankTimes> ranks) {
  if (sums_.size() != ranks.size()) {
    sums_.assign(ranks.size(), {});
    steps_ = 0;
  }
  double longest = 0;
  for (const RankTimes& rank : ranks) longest = std::max(longest, rank.run_seconds);
  for (size_t i = 0; i < ranks.size(); ++i) {
    sums_[i].compute_seconds += own_seconds(ranks[i]);
    sums_[i].exposed_communication_seconds += ranks[i].exposed_communication_seconds;
    sums_[i].bubble_seconds += ranks[i].bubble_seconds + longest - ranks[i].run_seconds;
  }
  ++steps_;
}

RankLine RankSums::take(int64_t step) {
  RankLine line{.step = step, .steps = steps_, .ranks = static_cast<int64_t>(sums_.size())};
  const size_t rows = std::min(sums_.size(), kMostRankRows);
  const double share = 1.0 / static_cast<double>(std::max<int64_t>(1, steps_));
  for (size_t row = 0; row < rows; ++row) {
    const auto begin = sums_.begin() + static_cast<ptrdiff_t>(row * sums_.size() / rows);
    const auto end = sums_.begin() + static_cast<ptrdiff_t>((row + 1) * sums_.size() / rows);
    const auto slowest = std::max_element(begin, end, [](const StepTimes& a, const StepTimes& b) {
      return a.compute_seconds < b.compute_seconds;
    });
    line.rank.push_back(static_cast<int>(slowest - sums_.begin()));
    line.compute_seconds.push_back(share * slowest->compute_seconds);
    line.exposed_communication_seconds.push_back(share * slowest->exposed_communication_seconds);
    line.bubble_seconds.push_back(share * slowest->bubble_seconds);
  }
  steps_ = 0;
  sums_.clear();
  return line;
}

std::string to_json_line(const RankLine& line) {
  std::string rows;
  if (line.ranks > static_cast<int64_t>(line.rank.size())) {
    for (const int rank : line.rank) rows += fmt::format("{}{}", rows.empty() ? "" : ",", rank);
    rows = fmt::format("\"rank\":[{}],", rows);
  }
  return fmt::format(R"({{"step":{},"steps":{},"ranks":{},{}"compute_seconds":[{}],)"
                     R"("exposed_communication_seconds":[{}],"bubble_seconds":[{}]}})",
                     line.step, line.steps, line.ranks, rows, list_of(line.compute_seconds),
                     list_of(line.exposed_communication_seconds), list_of(line.bubble_seconds));
}

std::optional<RankLine> parse_rank_line(std::string_view text) {
  Json json;
  if (!parse_json(text, kDeepestRankLine, json).empty() || !json.is_object()) return {};
  RankLine line{.step = whole_of(json, "step"),
                .steps = whole_of(json, "steps"),
                .ranks = whole_of(json, "ranks")};
  if (line.step < 1 || line.steps < 1 || line.ranks < 1 || line.ranks > kMostLineRanks) return {};
  if (!read_seconds(json, "compute_seconds", line.compute_seconds) ||
      !read_seconds(json, "exposed_communication_seconds", line.exposed_communication_seconds) ||
      !read_seconds(json, "bubble_seconds", line.bubble_seconds) || !read_rows(json, line))
    return {};
  const size_t rows = line.compute_seconds.size();
  if (rows == 0 || static_cast<int64_t>(rows) > line.ranks ||
      line.exposed_communication_seconds.size() != rows || line.bubble_seconds.size() != rows)
    return {};
  return line;
}

}  // namespace tessera
