// SPDX-License-Identifier: Apache-2.0
#include "samples/config_text.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "core/error.h"

namespace tessera {
namespace {

using Lines = std::vector<std::string>;

constexpr size_t kWidth = 120;
constexpr std::array<std::string_view, 10> kSections{
    "model", "data", "data.mixture", "lora",       "train",
    "mesh",  "plan", "islands",      "checkpoint", "run"};

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

bool is_header(std::string_view line) { return line.starts_with('['); }
bool is_comment(std::string_view line) { return line.starts_with('#'); }

size_t header_of(const Lines& lines, std::string_view section) {
  const std::string header = fmt::format("[{}]", section);
  return static_cast<size_t>(std::ranges::find(lines, header) - lines.begin());
}

// The first of the comments right above a line.
size_t with_comments_above(const Lines& lines, size_t line) {
  while (line > 0 && is_comment(lines[line - 1])) --line;
  return line;
}

// After the last line of the section that begins at `header`: comments above the next one are that
// one's.
size_t end_of_section(const Lines& lines, size_t header) {
  size_t end = header + 1;
  while (end < lines.size() && !is_header(lines[end])) ++end;
  if (end < lines.size()) end = with_comments_above(lines, end);
  while (end > header + 1 && lines[end - 1].empty()) --end;
  return end;
}

// Where a section that is not there belongs.
size_t place_of_new(const Lines& lines, std::string_view section) {
  const auto known = std::ranges::find(kSections, section);
  TESSERA_CHECK(known != kSections.end(), "section {}", section);
  for (auto later = known + 1; later != kSections.end(); ++later)
    if (const size_t header = header_of(lines, *later); header < lines.size())
      return with_comments_above(lines, header);
  return lines.size();
}

bool sets(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  const size_t sign = line.find_first_not_of(' ');
  return sign != line.npos && line[sign] == '=';
}

void insert(Lines& lines, size_t place, const Lines& more) {
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(place), more.begin(), more.end());
}

void erase(Lines& lines, size_t begin, size_t end) {
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(begin),
              lines.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace

std::string comment_lines(const std::string& words, size_t indent) {
  std::istringstream stream(words);
  std::string text, line = "#";
  for (std::string word; stream >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      text += line + '\n';
      line = "#" + std::string(indent, ' ');
    }
    line += ' ' + word;
  }
  return text + line + '\n';
}

std::string with_value(const std::string& text, const NewValue& value) {
  const size_t dot = value.key.rfind('.');
  const std::string section = value.key.substr(0, dot), name = value.key.substr(dot + 1);
  const bool goes = value.value.empty(), keeps_comment = !goes && value.why.empty();
  Lines lines = lines_of(text), written;
  if (!value.why.empty()) written = lines_of(comment_lines(value.why));
  if (!goes) written.push_back(fmt::format("{} = {}", name, value.value));
  const size_t header = header_of(lines, section);
  if (header == lines.size()) return with_section(text, section, written);
  size_t place = end_of_section(lines, header);
  for (size_t line = header + 1; line < place; ++line) {
    if (!sets(lines[line], name)) continue;
    place = keeps_comment ? line : with_comments_above(lines, line);
    erase(lines, place, line + 1);
  }
  insert(lines, place, written);
  return text_of(lines);
}

std::string with_section(const std::string& text, const std::string& section,
                         const std::vector<std::string>& written) {
  Lines lines = lines_of(text);
  size_t place = header_of(lines, section);
  if (place < lines.size()) {
    const size_t end = end_of_section(lines, place);
    place = with_comments_above(lines, place);
    erase(lines, place, std::min(end + 1, lines.size()));  // with the empty line after it
  } else {
    place = place_of_new(lines, section);
  }
  if (written.empty()) return text_of(lines);
  Lines all{fmt::format("[{}]", section)};
  all.insert(all.end(), written.begin(), written.end());
  if (place == lines.size() && place > 0)
    all.insert(all.begin(), "");
  else if (place < lines.size())
    all.emplace_back();
  insert(lines, place, all);
  return text_of(lines);
}

}  // namespace tessera
