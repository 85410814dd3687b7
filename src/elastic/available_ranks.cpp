// SPDX-License-Identifier: Apache-2.0
#include "elastic/available_ranks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>

#include "core/error.h"

namespace tessera {
namespace {

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0) return {};
  return number;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Of a host, as it may stand in a probe, which a shell runs, and in what mpirun is told.
bool is_host_name(std::string_view name) {
  return !name.empty() && !name.starts_with('-') && std::ranges::all_of(name, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("._-@").find(letter) != std::string_view::npos;
  });
}

std::optional<HostRanks> host_of(const std::vector<std::string>& words) {
  HostRanks host{.name = words.front()};
  if (const size_t colon = host.name.rfind(':'); colon != std::string::npos) {
    const std::optional<int> ranks = whole_number(host.name.substr(colon + 1));
    if (!ranks) return {};
    host.ranks = *ranks;
    host.name.resize(colon);
  }
  if (!is_host_name(host.name)) return {};
  constexpr std::string_view kSlots = "slots=";
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].find('=') == std::string::npos) return {};
    if (!words[i].starts_with(kSlots)) continue;  // max-slots and others are mpirun's affair
    const std::optional<int> ranks = whole_number(words[i].substr(kSlots.size()));
    if (!ranks) return {};
    host.ranks = *ranks;
  }
  return host;
}

}  // namespace

AvailableRanks ranks_of(std::vector<HostRanks> hosts) {
  AvailableRanks found{.hosts = std::move(hosts)};
  for (const HostRanks& host : found.hosts) found.ranks += host.ranks;
  return found;
}

AvailableRanks parse_available(std::string_view text, const std::string& place) {
  std::istringstream stream{std::string(text)};
  std::vector<HostRanks> hosts;
  std::optional<int> count;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    const std::optional<int> alone = words.size() == 1 ? whole_number(words.front()) : std::nullopt;
    const std::optional<HostRanks> host = alone ? std::nullopt : host_of(words);
    if (count || (alone && !hosts.empty()) || (!alone && !host))
      throw user_error("cannot read \"{}\" as a number of ranks or as a host", line)
          .at(fmt::format("{}, line {}", place, number))
          .help(
              "write the number of ranks that are there, such as 8, or a line for each host, "
              "such as node7 slots=8");
    if (alone) count = alone;
    if (host && host->ranks > 0) hosts.push_back(*host);
  }
  if (count) return {.ranks = *count};
  return ranks_of(std::move(hosts));
}

std::vector<int> parse_counts_of_nodes(std::string_view text) {
  std::vector<int> counts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    int times = 1;
    if (const size_t open = part.find("(x"); open != std::string_view::npos) {
      if (!part.ends_with(')')) return {};
      const auto given = whole_number(part.substr(open + 2, part.size() - open - 3));
      if (!given) return {};
      times = *given;
      part = part.substr(0, open);
    }
    const std::optional<int> count = whole_number(part);
    if (!count) return {};
    counts.insert(counts.end(), static_cast<size_t>(times), *count);
  }
  return counts;
}

AvailableRanks nodes_that_are_up(std::span<const HostRanks> nodes, std::string_view sinfo) {
  constexpr std::array<std::string_view, 3> kUp{"allocated", "mixed", "completing"};
  std::set<std::string> up;
  std::istringstream stream{std::string(sinfo)};
  for (std::string node, state; stream >> node >> state;)
    if (std::ranges::find(kUp, state) != kUp.end()) up.insert(node);
  std::vector<HostRanks> found;
  for (const HostRanks& node : nodes)
    if (up.contains(node.name)) found.push_back(node);
  return ranks_of(std::move(found));
}

std::vector<HostRanks> hosts_for(const AvailableRanks& available, int ranks) {
  std::vector<HostRanks> hosts;
  for (const HostRanks& host : available.hosts) {
    if (ranks <= 0) break;
    hosts.push_back(host);
    ranks -= host.ranks;
  }
  return hosts;
}

}  // namespace tessera
