// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in the text itself, before it is split: <|endoftext|>. The leftmost match
// wins; among those, the longest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera {

struct AddedToken {
  int32_t id = 0;
  std::string text;
  bool special = false;
  bool single_word = false;                      // not within a word
  bool left_strip = false, right_strip = false;  // also takes the white space next to it
  bool normalized = false;                       // matched in the normalized text
};

class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  struct Match {
    size_t begin, end;  // including stripped space
    int32_t id;
  };
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string_view, const AddedToken*> by_text_;
  std::array<std::vector<size_t>, 256> lengths_;  // by first byte, longest first
};

}  // namespace tessera
