// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/testing/reference_split.h"

#include <utf8proc.h>

#include <algorithm>
#include <functional>

namespace tessera {
namespace {

struct Character {
  std::string bytes;
  int32_t code;
  bool letter, number, space, line_end;
  bool other() const { return !letter && !number && !space; }
};
using Characters = std::vector<Character>;

Characters characters_of(std::string_view text) {
  Characters characters;
  const auto* data = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t code = 0;
    const auto bytes = static_cast<size_t>(
        utf8proc_iterate(data + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code));
    const std::string category = utf8proc_category_string(code);
    const bool control_space = (code >= 9 && code <= 13) || code == 0x85;
    characters.push_back({std::string(text.substr(at, bytes)), code, category[0] == 'L',
                          category[0] == 'N', category[0] == 'Z' || control_space,
                          code == '\n' || code == '\r'});
    at += bytes;
  }
  return characters;
}

// The end of the run of matching characters that begins at `at`.
size_t run(const Characters& c, size_t at, const std::function<bool(const Character&)>& holds) {
  while (at < c.size() && holds(c[at])) ++at;
  return at;
}

// The end of 's 't 're 've 'm 'll 'd at `at`, or `at`.
size_t contraction(const Characters& c, size_t at, bool any_case) {
  if (c[at].code != '\'') return at;
  const auto letter = [&](size_t i) -> int32_t {
    if (i >= c.size()) return 0;
    const int32_t code = c[i].code;
    if (any_case && code == 0x17F) return 's';
    return any_case && code >= 'A' && code <= 'Z' ? code + 32 : code;
  };
  const int32_t first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  const bool pair =
      (second == 'e' && (first == 'r' || first == 'v')) || (first == 'l' && second == 'l');
  return pair ? at + 3 : at;
}

// White space that no rule before took: all of it at the end of the text, else all but its last
// character, which belongs to what follows.
size_t spaces(const Characters& c, size_t at) {
  const size_t end = run(c, at, [](const Character& x) { return x.space; });
  return end == c.size() || end == at + 1 ? end : end - 1;
}

size_t gpt2_end(const Characters& c, size_t at) {
  if (const size_t end = contraction(c, at, false); end > at) return end;
  const size_t word = c[at].code == ' ' && at + 1 < c.size() && !c[at + 1].space ? at + 1 : at;
  if (c[word].letter) return run(c, word, [](const Character& x) { return x.letter; });
  if (c[word].number) return run(c, word, [](const Character& x) { return x.number; });
  if (c[word].other()) return run(c, word, [](const Character& x) { return x.other(); });
  return spaces(c, at);
}

size_t llama3_end(const Characters& c, size_t at, size_t max_digits) {
  if (const size_t end = contraction(c, at, true); end > at) return end;
  const bool has_next = at + 1 < c.size();
  const auto letter = [](const Character& x) { return x.letter; };
  if (c[at].letter) return run(c, at, letter);
  if (!c[at].line_end && !c[at].number && has_next && c[at + 1].letter)
    return run(c, at + 1, letter);
  if (c[at].number)
    return std::min(at + max_digits, run(c, at, [](const Character& x) { return x.number; }));
  const size_t marks = c[at].code == ' ' && has_next && c[at + 1].other() ? at + 1 : at;
  if (c[marks].other()) {
    const size_t end = run(c, marks, [](const Character& x) { return x.other(); });
    return run(c, end, [](const Character& x) { return x.line_end; });
  }
  size_t last = run(c, at, [](const Character& x) { return x.space; });
  while (last > at && !c[last - 1].line_end) --last;
  return last > at ? last : spaces(c, at);
}

std::vector<std::string> pieces(std::string_view text,
                                const std::function<size_t(const Characters&, size_t)>& end_of) {
  const Characters c = characters_of(text);
  std::vector<std::string> result;
  for (size_t at = 0; at < c.size();) {
    const size_t end = end_of(c, at);
    std::string& piece = result.emplace_back();
    for (; at < end; ++at) piece += c[at].bytes;
  }
  return result;
}

}  // namespace

std::vector<std::string> reference_gpt2_split(std::string_view text) {
  return pieces(text, gpt2_end);
}

std::vector<std::string> reference_llama3_split(std::string_view text, size_t max_digits) {
  return pieces(text,
                [&](const Characters& c, size_t at) { return llama3_end(c, at, max_digits); });
}

std::vector<std::string> reference_bpe(std::string_view word, const ReferenceRanks& ranks) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  for (;;) {
    auto best = ranks.end();
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found == ranks.end() || (best != ranks.end() && found->second >= best->second)) continue;
      best = found;
      best_at = i;
    }
    if (best == ranks.end()) return parts;
    parts[best_at] += parts[best_at + 1];
    parts.erase(parts.begin() + static_cast<int64_t>(best_at) + 1);
  }
}

}  // namespace tessera
