// SPDX-License-Identifier: Apache-2.0
#include "core/choices.h"

#include <algorithm>
#include <vector>

namespace tessera {

std::string join_choices(std::span<const std::string> choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    const bool last = i + 1 == choices.size();
    text += i == 0 ? "" : last ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

std::string join_choices(std::span<const int64_t> choices) {
  std::vector<std::string> texts;
  for (const int64_t choice : choices) texts.push_back(std::to_string(choice));
  return join_choices(texts);
}

namespace {

size_t distance(std::string_view a, std::string_view b) {
  // Row i holds the distances between the first i letters of a and all prefixes of b.
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const size_t changed = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows.back().back();
}

}  // namespace

std::string nearest_name(std::string_view text, std::span<const std::string> known) {
  std::string nearest;
  size_t least = std::max<size_t>(1, text.size() / 3) + 1;
  if (text.size() > 100) return nearest;
  for (const std::string& name : known) {
    const size_t far = distance(text, name);
    if (far >= least) continue;
    least = far;
    nearest = name;
  }
  return nearest;
}

}  // namespace tessera
