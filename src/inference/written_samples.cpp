// SPDX-License-Identifier: Apache-2.0
#include "inference/written_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tessera {
namespace {

constexpr size_t kWidth = 30;  // characters of a column

// Characters, not bytes: those that begin none do not count.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Lines of at most kWidth characters, broken at blanks, or where a word is longer.
std::vector<std::string> wrapped(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    lines.push_back(line);
    line.clear();
  };
  while (!text.empty()) {
    const size_t blank = std::min(text.find_first_of(" \n"), text.size());
    std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(text.size(), blank + 1));
    if (!line.empty() && width_of(line) + 1 + width_of(word) > kWidth) end_line();
    if (!line.empty() && !word.empty()) line += ' ';
    for (const char c : word) {
      if (width_of(line) == kWidth && (c & 0xC0) != 0x80) end_line();
      line += c;
    }
  }
  if (!line.empty()) end_line();
  return lines;
}

}  // namespace

std::string beside_each_other(const std::vector<WrittenSample>& samples) {
  if (samples.size() < 2) return {};
  std::vector<WrittenSample> shown{samples[0], samples[1]};
  if (samples.size() > 2) shown.push_back(samples.back());
  std::vector<std::vector<std::string>> columns;
  size_t lines = 0;
  for (const WrittenSample& sample : shown) {
    std::vector<std::string>& column = columns.emplace_back(wrapped(sample.text));
    column.insert(column.begin(), {fmt::format("step {}", sample.step), std::string(kWidth, '-')});
    lines = std::max(lines, column.size());
  }
  std::string text;
  for (size_t line = 0; line < lines; ++line) {
    std::string row;
    for (const std::vector<std::string>& column : columns) {
      const std::string cell = line < column.size() ? column[line] : "";
      row += (&column == &columns.front() ? "" : "   ") + cell +
             std::string(kWidth - width_of(cell), ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace tessera
