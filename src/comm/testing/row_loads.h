// SPDX-License-Identifier: Apache-2.0
// How many rows each rank has for each expert, in tests of put_rows and take_rows.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"

namespace tessera {

struct RowCase {
  std::string name;
  int64_t experts_per_rank, columns, most;  // rows of one rank for one expert
  int64_t room = 0;                         // of a pool; 0: enough
  bool first_has_all = false;               // its experts get `most` rows each, others none
};

// How many rows each rank has for each expert.
class RowLoads {
 public:
  RowLoads(const RowCase& c, int ranks)
      : ranks_(ranks), experts_(c.experts_per_rank * ranks), room_(c.room) {
    const RandomStream random(5, c.name);
    for (int64_t i = 0; i < ranks_ * experts_; ++i) {
      const auto drawn = static_cast<int64_t>(
          random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(c.most + 1)));
      const int64_t hot = i % experts_ < c.experts_per_rank ? c.most : 0;
      counts_.push_back(c.first_has_all ? hot : drawn);
    }
  }
  int64_t experts() const { return experts_; }
  int64_t at(int rank, int64_t expert) const {
    return counts_[static_cast<size_t>(rank * experts_ + expert)];
  }
  std::vector<int32_t> ends() const {
    std::vector<int32_t> ends;
    for (int rank = 0; rank < ranks_; ++rank)
      for (int64_t expert = 0, end = 0; expert < experts_; ++expert)
        ends.push_back(static_cast<int32_t>(end += at(rank, expert)));
    return ends;
  }
  int64_t all() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }
  int64_t room() const { return room_ > 0 ? room_ : std::max<int64_t>(1, all()); }

 private:
  int ranks_;
  int64_t experts_, room_;
  std::vector<int64_t> counts_;
};

inline std::vector<RowCase> row_cases() {
  return {{"few", 1, 1, 2},
          {"uneven", 3, 5, 9},
          {"wide", 2, 300, 40},
          {"none", 2, 4, 0},
          {.name = "one_expert",
           .experts_per_rank = 1,
           .columns = 6,
           .most = 7,
           .first_has_all = true}};
}

// More for the first rank than its pool has room for.
inline RowCase hot_rows(int ranks) { return {"hot", 3, 5, 4, 12 + 3 * (ranks - 1), true}; }

}  // namespace tessera
