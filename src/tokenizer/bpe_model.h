// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding: a word starts as the tokens of its bytes; then the adjacent pair with the
// lowest rank in the list of merges is merged, the leftmost first, until no pair can be merged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera {

struct BytesToken {
  std::string bytes;
  int32_t id = 0;
};

struct BpeMerge {
  int32_t left = 0, right = 0, merged = 0;
};

class BpeModel {
 public:
  // Every byte must be a token. A pair that is listed twice has its last rank.
  BpeModel(std::span<const BytesToken> tokens, std::span<const BpeMerge> merges,
           bool ignore_merges);

  // Reused between words, so that a word allocates nothing.
  class Scratch {
    friend class BpeModel;
    struct Symbol {
      int32_t id;
      int32_t previous, next;  // neighbours, -1: none
    };
    struct Candidate {
      int32_t rank, at, merged;
      // The top of the heap is its greatest element.
      bool operator<(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : at > other.at;
      }
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  // Appends the tokens of one word, which is not empty.
  void encode_word(std::string_view word, std::vector<int32_t>& ids, Scratch& scratch) const;

 private:
  struct Merged {
    int32_t rank, id;
  };
  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  void offer(int32_t at, Scratch& scratch) const;

  std::vector<int32_t> byte_ids_;
  std::unordered_map<uint64_t, Merged> merges_;
  std::unordered_map<std::string_view, int32_t> whole_words_;  // empty without ignore_merges
  std::vector<std::string> word_bytes_;
};

}  // namespace tessera
