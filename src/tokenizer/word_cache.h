// SPDX-License-Identifier: Apache-2.0
// A cache of the tokens of words, because few different words make up most of a text. It has a
// fixed size: when it is full, it is cleared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class WordCache {
 public:
  WordCache();

  // The tokens of a word, valid until the next `add`.
  std::optional<std::span<const int32_t>> find(std::string_view word) const;
  void add(std::string_view word, std::span<const int32_t> ids);  // one that `find` has not found

 private:
  struct Slot {
    uint32_t check = 0;  // other bits of the hash
    uint32_t word_begin = 0, ids_begin = 0;
    uint16_t word_bytes = 0, num_ids = 0;  // no bytes: free
  };
  size_t slot_of(std::string_view word, uint64_t hash) const;

  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::string words_;
  std::vector<int32_t> ids_;
};

}  // namespace tessera
