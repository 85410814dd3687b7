// SPDX-License-Identifier: Apache-2.0
#include "core/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 9> kUnits{{{"b", 1.0},
                                                                     {"kb", 1e3},
                                                                     {"mb", 1e6},
                                                                     {"gb", 1e9},
                                                                     {"tb", 1e12},
                                                                     {"kib", 1024.0},
                                                                     {"mib", 1048576.0},
                                                                     {"gib", 1073741824.0},
                                                                     {"tib", 1099511627776.0}}};
constexpr double kMostBytes = 1e18;

constexpr std::array<std::pair<std::string_view, double>, 6> kDurations{
    {{"ms", 1e-3}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}, {"y", 365.25 * 86400}}};
constexpr double kLongest = 1e6 * 365.25 * 86400;

constexpr std::array<std::pair<std::string_view, double>, 5> kCounts{
    {{"", 1.0}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}}};
constexpr double kMostCounted = 1e18;

// In lower case, without surrounding blanks.
std::string unit_of(std::string_view text) {
  std::string unit;
  for (const char letter : text)
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  unit.erase(unit.find_last_not_of(' ') + 1);
  return unit;
}

// A number and one of the units; nothing if it is neither, or negative.
std::optional<double> quantity_of(const std::string& text,
                                  std::span<const std::pair<std::string_view, double>> units) {
  double number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || !(number >= 0)) return {};
  const std::string unit = unit_of({end, static_cast<size_t>(last - end)});
  for (const auto& [known, worth] : units)
    if (unit == known) return number * worth;
  return {};
}

}  // namespace

double parse_duration(const std::string& text, const std::string& place) {
  const std::optional<double> seconds = quantity_of(text, kDurations);
  if (!seconds || *seconds > kLongest)
    throw user_error("{} is not a duration", text)
        .at(place)
        .help("write a number and a unit, such as 90s, 15m, 3h, 2d or 5y");
  return *seconds;
}

double parse_count(const std::string& text, const std::string& place) {
  const std::optional<double> count = quantity_of(text, kCounts);
  if (!count || *count < 1 || *count > kMostCounted)
    throw user_error("{} is not a count", text)
        .at(place)
        .help("write a number, such as 15T, 300B, 20M or 1000");
  return *count;
}

int64_t parse_byte_size(const std::string& text, const std::string& place) {
  double number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error == std::errc() && number > 0) {
    const std::string unit = unit_of({end, static_cast<size_t>(last - end)});
    if (unit.empty())
      throw user_error("{} has no unit", text)
          .at(place)
          .help(fmt::format("write {0}GB or {0}GiB, or {0}B for bytes",
                            text.substr(0, static_cast<size_t>(end - text.data()))));
    for (const auto& [known, bytes] : kUnits)
      if (unit == known && number * bytes >= 1 && number * bytes <= kMostBytes)
        return static_cast<int64_t>(number * bytes);
  }
  throw user_error("{} is not a size", text)
      .at(place)
      .help("write a number and a unit, such as 24GB, 512MB or 1.5GiB");
}

std::string short_duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, std::ceil(seconds)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string short_bytes(int64_t bytes) {
  constexpr std::array<const char*, 4> kUnits{"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
  return fmt::format("{:.{}f} {}", amount, amount < 10 ? 2 : amount < 100 ? 1 : 0, kUnits[unit]);
}

}  // namespace tessera
