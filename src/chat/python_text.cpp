// SPDX-License-Identifier: Apache-2.0
#include "chat/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/utf8.h"
#include "tokenizer/unicode.h"

namespace tessera {
namespace {

bool is_python_space(uint32_t code) {
  return is_white_space(code) || (code >= 0x1C && code <= 0x1F);
}

bool ends_line(uint32_t code) {
  return (code >= '\n' && code <= '\r') || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

// A byte that is not UTF-8 counts as a character.
Utf8Character next_of(std::string_view text) {
  Utf8Character next = first_character(text);
  if (next.bytes == 0) next = {.code = 0xFFFD, .bytes = 1};
  return next;
}

bool is_stripped(std::string_view character, uint32_t code,
                 const std::optional<std::string_view>& characters) {
  return characters ? characters->find(character) != std::string_view::npos : is_python_space(code);
}

template <typename Change>
std::string changed(std::string_view text, Change change) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character next = next_of(text);
    append_utf8(out, change(next.code));
    text.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace

std::string_view stripped_left(std::string_view text, std::optional<std::string_view> characters) {
  while (!text.empty()) {
    const Utf8Character next = next_of(text);
    if (!is_stripped(text.substr(0, next.bytes), next.code, characters)) break;
    text.remove_prefix(next.bytes);
  }
  return text;
}

std::string_view stripped_right(std::string_view text, std::optional<std::string_view> characters) {
  while (!text.empty()) {
    Utf8Character last = last_character(text);
    if (last.bytes == 0) last = {.code = 0xFFFD, .bytes = 1};
    if (!is_stripped(text.substr(text.size() - last.bytes), last.code, characters)) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

std::string_view stripped(std::string_view text, std::optional<std::string_view> characters) {
  return stripped_left(stripped_right(text, characters), characters);
}

std::vector<size_t> character_begins(std::string_view text) {
  std::vector<size_t> begins;
  for (size_t at = 0; at < text.size(); at += next_of(text.substr(at)).bytes) begins.push_back(at);
  begins.push_back(text.size());
  return begins;
}

int64_t character_count(std::string_view text) { return std::ssize(character_begins(text)) - 1; }

// memmem of glibc is linear, std::string's find is not.
size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string::npos;
  if (part.empty()) return from;
  const void* found = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data())
               : std::string::npos;
}

std::vector<size_t> find_all_text(std::string_view text, std::string_view part) {
  std::vector<size_t> found;
  size_t at = find_text(text, part, 0);
  while (at != std::string::npos && !part.empty()) {
    found.push_back(at);
    at = find_text(text, part, at + part.size());
  }
  return found;
}

std::vector<std::string> split_by(std::string_view text, std::string_view by, int64_t most) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (const size_t at : find_all_text(text, by)) {
    if (most >= 0 && std::ssize(parts) >= most) break;
    parts.emplace_back(text.substr(begin, at - begin));
    begin = at + by.size();
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::vector<std::string> split_by_last(std::string_view text, std::string_view by, int64_t most) {
  // Matches from the right: those of the reversed texts.
  const std::string back(text.rbegin(), text.rend()), back_by(by.rbegin(), by.rend());
  std::vector<std::string> parts = split_by(back, back_by, most);
  std::ranges::reverse(parts);
  for (std::string& part : parts) std::ranges::reverse(part);
  return parts;
}

std::vector<std::string> split_by_space(std::string_view text, int64_t most) {
  std::vector<std::string> parts;
  text = stripped_left(text);
  while (!text.empty()) {
    if (most >= 0 && std::ssize(parts) >= most) {
      parts.emplace_back(stripped_right(text));
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const Utf8Character next = next_of(text.substr(end));
      if (is_python_space(next.code)) break;
      end += next.bytes;
    }
    parts.emplace_back(text.substr(0, end));
    text = stripped_left(text.substr(end));
  }
  return parts;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  size_t begin = 0, at = 0;
  while (at < text.size()) {
    const Utf8Character next = next_of(text.substr(at));
    const size_t end = at;
    at += next.bytes;
    if (!ends_line(next.code)) continue;
    if (next.code == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(begin, end - begin));
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

std::string replaced_text(std::string_view text, std::string_view part, std::string_view by,
                          int64_t most) {
  std::string out;
  size_t begin = 0;
  int64_t count = 0;
  std::vector<size_t> places = find_all_text(text, part);
  if (part.empty()) places = character_begins(text);
  for (const size_t at : places) {
    if (most >= 0 && count++ >= most) break;
    out += text.substr(begin, at - begin);
    out += by;
    begin = at + part.size();
  }
  return out += text.substr(begin);
}

std::string upper_text(std::string_view text) { return changed(text, upper_case); }
std::string lower_text(std::string_view text) { return changed(text, lower_case); }

std::string capital_text(std::string_view text) {
  bool first = true;
  return changed(text, [&](uint32_t code) {
    const uint32_t letter = first ? upper_case(code) : lower_case(code);
    first = false;
    return letter;
  });
}

std::string title_text(std::string_view text) {
  bool first = true;
  return changed(text, [&](uint32_t code) {
    const bool between =
        is_python_space(code) ||
        (code < 128 && code != 0 &&
         std::string_view("-({[<").find(static_cast<char>(code)) != std::string_view::npos);
    const uint32_t letter = first ? upper_case(code) : lower_case(code);
    first = between;
    return letter;
  });
}

std::string python_quoted(std::string_view text) { return fmt::format("'{}'", text); }

}  // namespace tessera
