// SPDX-License-Identifier: Apache-2.0
// A part of a full tensor, by global index: the elements `begin` to `end`, in row-major order, of
// the box that begins at `first` and is `count` long along each dim. A rank's shard of a tensor, on
// any mesh, is one such part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct TensorPiece {
  std::vector<int64_t> first, count;
  int64_t begin = 0, end = 0;

  int64_t elements() const { return end - begin; }
  bool operator==(const TensorPiece&) const = default;
};

using Shape = std::vector<int64_t>;

int64_t elements_of(const Shape& shape);
TensorPiece whole_tensor(const Shape& shape);
// A full box keeps its shape; a part of one is a list of elements.
Shape stored_shape(const TensorPiece& piece);
// The index of an element of the full tensor in the box's row-major order.
int64_t index_in_box(const Shape& shape, const TensorPiece& piece, int64_t element);
// Why it cannot be a part of such a tensor; empty if it can.
std::string problem_of(const Shape& shape, const TensorPiece& piece);

// Contiguous elements of the full tensor.
struct Stretch {
  int64_t element = 0, count = 0;
};
// A piece's stretches, ascending.
std::vector<Stretch> stretches_of(const Shape& shape, const TensorPiece& piece);

}  // namespace tessera
