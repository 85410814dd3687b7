// SPDX-License-Identifier: Apache-2.0
#include "huggingface/copy_patch.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace tessera {
namespace {

// Of one side of a patch.
struct Grid {
  int64_t begin, row, column;
};

constexpr int64_t kTile = 32;

template <size_t kBytes>
void copy_tile(const std::byte* from, const Grid& f, std::byte* to, const Grid& t, int64_t rows,
               int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(to + (r * t.row + c * t.column) * int64_t{kBytes},
                  from + (r * f.row + c * f.column) * int64_t{kBytes}, kBytes);
}

template <size_t kBytes>
void copy_grid(const Patch& patch, std::span<const std::byte> from, const Grid& f,
               std::span<std::byte> to, const Grid& t) {
  const std::byte* source = from.data() + f.begin * int64_t{kBytes};
  std::byte* target = to.data() + t.begin * int64_t{kBytes};
  if (f.column == 1 && t.column == 1) {
    for (int64_t r = 0; r < patch.rows; ++r)
      std::memcpy(target + r * t.row * int64_t{kBytes}, source + r * f.row * int64_t{kBytes},
                  static_cast<size_t>(patch.columns) * kBytes);
    return;
  }
  for (int64_t r = 0; r < patch.rows; r += kTile)
    for (int64_t c = 0; c < patch.columns; c += kTile)
      copy_tile<kBytes>(source + (r * f.row + c * f.column) * int64_t{kBytes}, f,
                        target + (r * t.row + c * t.column) * int64_t{kBytes}, t,
                        std::min(kTile, patch.rows - r), std::min(kTile, patch.columns - c));
}

void copy(const Patch& patch, int64_t element_bytes, std::span<const std::byte> from, const Grid& f,
          std::span<std::byte> to, const Grid& t) {
  switch (element_bytes) {
    case 2:
      return copy_grid<2>(patch, from, f, to, t);
    case 4:
      return copy_grid<4>(patch, from, f, to, t);
    case 8:
      return copy_grid<8>(patch, from, f, to, t);
    default:
      check_failed("elements have 2, 4 or 8 bytes", __FILE__, __LINE__, patch.ours);
  }
}

Grid our_grid(const Patch& patch) { return {patch.our_begin, patch.our_row, 1}; }
Grid their_grid(const Patch& patch) {
  return {patch.their_begin, patch.their_row, patch.their_column};
}

}  // namespace

void copy_to_ours(const Patch& patch, int64_t element_bytes, std::span<const std::byte> theirs,
                  std::span<std::byte> ours) {
  copy(patch, element_bytes, theirs, their_grid(patch), ours, our_grid(patch));
}

void copy_to_theirs(const Patch& patch, int64_t element_bytes, std::span<const std::byte> ours,
                    std::span<std::byte> theirs) {
  copy(patch, element_bytes, ours, our_grid(patch), theirs, their_grid(patch));
}

}  // namespace tessera
