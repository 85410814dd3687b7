// SPDX-License-Identifier: Apache-2.0
// Which tiles a grouped product has, found from `ends` by each warp for itself: tile i of the
// launch is a rectangle of one expert's result.
#pragma once

#include <cstdint>

namespace tessera {

inline constexpr int kTileRows = 128, kTileColumns = 256;
inline constexpr int kBandTiles = 16;  // tiles along the rows that go together, for the L2 cache
inline constexpr int kMostSorted = 1024;

struct GroupedSizes {
  const int32_t* ends;
  int experts;
  int m, n, k;  // of the result, and its terms; the one that depends on the expert is not used
  bool accumulate;
};

struct GroupedTile {
  int expert;
  int row, rows_left;  // of the pool, or of the expert's weights
  int column;
  int term, terms;  // the first term in the pool, or 0
};

// `kByTerms`: an expert's rows are terms of the sums, not rows of the result.
template <bool kByTerms, int kRows = kTileRows, int kColumns = kTileColumns>
class TileWalk {
 public:
  // `order`: experts by falling number of rows, or null.
  __device__ TileWalk(const GroupedSizes& sizes, const uint16_t* order)
      : sizes_(sizes), order_(order), columns_((sizes.n + kColumns - 1) / kColumns) {}

  // Of a tile that is not before the last one asked for; false beyond the end.
  __device__ bool find(int tile, GroupedTile& found) {
    while (tile >= first_ + total_) {
      if (next_ >= sizes_.experts) return false;
      load_experts();
    }
    const int local = tile - first_;
    const int lane = __ffs(__ballot_sync(~0u, local < until_)) - 1;
    found.expert = __shfl_sync(~0u, expert_, lane);
    const int begin = __shfl_sync(~0u, begin_, lane), count = __shfl_sync(~0u, count_, lane);
    place(local - __shfl_sync(~0u, until_ - tiles_, lane), begin, count, found);
    return true;
  }

 private:
  __device__ void load_experts() {
    first_ += total_;
    const int lane = static_cast<int>(threadIdx.x % 32), at = next_ + lane;
    begin_ = count_ = tiles_ = expert_ = 0;
    if (at < sizes_.experts) {
      expert_ = order_ ? order_[at] : at;
      begin_ = expert_ > 0 ? sizes_.ends[expert_ - 1] : 0;
      count_ = sizes_.ends[expert_] - begin_;
      const int height = kByTerms ? sizes_.m : count_;
      tiles_ = (height + kRows - 1) / kRows * columns_;
      if (kByTerms && sizes_.accumulate && count_ == 0) tiles_ = 0;
    }
    until_ = tiles_;
    for (int distance = 1; distance < 32; distance *= 2) {
      const int below = __shfl_up_sync(~0u, until_, distance);
      if (lane >= distance) until_ += below;
    }
    total_ = __shfl_sync(~0u, until_, 31);
    next_ += 32;
  }

  // Bands of rows; in a band, down before across.
  __device__ void place(int tile, int begin, int count, GroupedTile& found) const {
    const int height = kByTerms ? sizes_.m : count;
    const int band = tile / (kBandTiles * columns_) * kBandTiles,
              in_band = tile % (kBandTiles * columns_);
    const int tall = min(kBandTiles, (height + kRows - 1) / kRows - band);
    const int row = (band + in_band % tall) * kRows;
    found.row = kByTerms ? row : begin + row;
    found.rows_left = height - row;
    found.column = in_band / tall * kColumns;
    found.term = kByTerms ? begin : 0;
    found.terms = kByTerms ? count : sizes_.k;
  }

  const GroupedSizes& sizes_;
  const uint16_t* order_;
  int columns_, next_ = 0, first_ = 0, total_ = 0;
  int expert_ = 0, begin_ = 0, count_ = 0, tiles_ = 0, until_ = 0;  // of the lane's expert
};

// By the whole block: experts by falling number of rows, the earlier first where equal, so that
// what is left at the end of a launch is small. `rows` has room for all of them.
__device__ inline void sort_experts(const GroupedSizes& sizes, int* rows, uint16_t* order) {
  const int first = static_cast<int>(threadIdx.x), stride = static_cast<int>(blockDim.x);
  for (int e = first; e < sizes.experts; e += stride)
    rows[e] = sizes.ends[e] - (e > 0 ? sizes.ends[e - 1] : 0);
  __syncthreads();
  for (int e = first; e < sizes.experts; e += stride) {
    int rank = 0;
    for (int other = 0; other < sizes.experts; ++other)
      rank += rows[other] > rows[e] || (rows[other] == rows[e] && other < e);
    order[rank] = static_cast<uint16_t>(e);
  }
}

}  // namespace tessera
