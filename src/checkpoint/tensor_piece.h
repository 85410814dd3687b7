// SPDX-License-Identifier: Apache-2.0
// A part of a whole tensor, said by global index: of the box that begins at `first` and is `count`
// long along each dim, the elements `begin` to `end` in row-major order. Whatever a mesh leaves a
// rank of a tensor is one such part.
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
// A box without a cut has its own shape; what is cut is a list of elements.
Shape stored_shape(const TensorPiece& piece);
// Where an element of the whole tensor stands in the box's row-major order.
int64_t index_in_box(const Shape& shape, const TensorPiece& piece, int64_t element);
// What is wrong with it as a part of such a tensor; empty: nothing.
std::string problem_of(const Shape& shape, const TensorPiece& piece);

// Elements that follow each other in the whole tensor.
struct Stretch {
  int64_t element = 0, count = 0;
};
// A piece's stretches, ascending.
std::vector<Stretch> stretches_of(const Shape& shape, const TensorPiece& piece);

}  // namespace tessera
