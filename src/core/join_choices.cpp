// SPDX-License-Identifier: Apache-2.0
#include "core/join_choices.h"

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

}  // namespace tessera
