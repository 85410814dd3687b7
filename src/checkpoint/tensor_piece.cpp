// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tensor_piece.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera {

int64_t elements_of(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

TensorPiece whole_tensor(const Shape& shape) {
  return {.first = Shape(shape.size(), 0), .count = shape, .begin = 0, .end = elements_of(shape)};
}

Shape stored_shape(const TensorPiece& piece) {
  if (piece.elements() == elements_of(piece.count)) return piece.count;
  return {piece.elements()};
}

int64_t index_in_box(const Shape& shape, const TensorPiece& piece, int64_t element) {
  int64_t index = 0, stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    index += (element % shape[i] - piece.first[i]) * stride;
    stride *= piece.count[i];
    element /= shape[i];
  }
  return index;
}

std::string problem_of(const Shape& shape, const TensorPiece& piece) {
  const size_t dims = shape.size();
  if (piece.first.size() != dims || piece.count.size() != dims)
    return fmt::format("has {} and {} dims, but the tensor has {}", piece.first.size(),
                       piece.count.size(), dims);
  int64_t whole = 1;
  for (size_t i = 0; i < dims; ++i) {
    if (piece.first[i] < 0 || piece.count[i] < 1 || piece.first[i] > shape[i] ||
        piece.count[i] > shape[i] - piece.first[i])
      return fmt::format("exceeds the tensor [{}]", fmt::join(shape, ", "));
    if (__builtin_mul_overflow(whole, shape[i], &whole)) return "has a shape that overflows";
  }
  if (piece.begin < 0 || piece.begin >= piece.end || piece.end > elements_of(piece.count))
    return fmt::format("has elements {} to {} of {}", piece.begin, piece.end,
                       elements_of(piece.count));
  return "";
}

std::vector<Stretch> stretches_of(const Shape& shape, const TensorPiece& piece) {
  // Inside the innermost dim that the box cuts, a row of the box is one stretch of the tensor.
  int64_t row = 1, inside = 1;
  size_t outer = shape.size();
  for (bool cut = false; outer > 0 && !cut; --outer) {
    row *= piece.count[outer - 1];
    cut = piece.count[outer - 1] != shape[outer - 1];
    if (!cut) inside *= shape[outer - 1];
  }
  std::vector<Stretch> stretches;
  for (int64_t at = piece.begin; at < piece.end;) {
    const int64_t end = std::min(piece.end, (at / row + 1) * row);
    int64_t rest = at / row, element = 0, stride = inside;
    if (outer < shape.size()) {
      element = piece.first[outer] * inside;
      stride = inside * shape[outer];
    }
    for (size_t i = outer; i-- > 0;) {
      element += (piece.first[i] + rest % piece.count[i]) * stride;
      rest /= piece.count[i];
      stride *= shape[i];
    }
    element += at % row;
    if (!stretches.empty() && stretches.back().element + stretches.back().count == element)
      stretches.back().count += end - at;
    else
      stretches.push_back({element, end - at});
    at = end;
  }
  return stretches;
}

}  // namespace tessera
