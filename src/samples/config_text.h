// SPDX-License-Identifier: Apache-2.0
// A config's text with other values: its lines and comments stay as they are.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct NewValue {
  std::string key;    // "train.steps"
  std::string value;  // as TOML writes it; empty: the key goes, with the comment above it
  std::string why;    // replaces the comment above the key; empty: that stays
};

// A key that is not there is added at the end of its section, and a section before those that
// follow it in a config.
std::string with_value(const std::string& text, const NewValue& value);
// With these lines in place of the section's, if any; without lines, without the section.
std::string with_section(const std::string& text, const std::string& section,
                         const std::vector<std::string>& lines);

// Comment lines of at most 120 columns; `indent` is that of all but the first.
std::string comment_lines(const std::string& words, size_t indent = 0);

}  // namespace tessera
