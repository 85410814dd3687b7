// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tensor_piece.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace tessera {
namespace {

// Counts through the box element by element.
std::vector<int64_t> elements_by_counting(const Shape& shape, const TensorPiece& piece) {
  std::vector<int64_t> elements;
  for (int64_t i = piece.begin; i < piece.end; ++i) {
    int64_t rest = i, element = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      element += (piece.first[d] + rest % piece.count[d]) * stride;
      rest /= piece.count[d];
      stride *= shape[d];
    }
    elements.push_back(element);
  }
  return elements;
}

TEST(TensorPiece, StretchesAreItsElementsInOrder) {
  const RandomStream random(1, "pieces");
  uint64_t draw = 0;
  const auto below = [&](int64_t end) {
    return static_cast<int64_t>(random.bits(draw++) % static_cast<uint64_t>(end));
  };
  for (int round = 0; round < 500; ++round) {
    Shape shape;
    TensorPiece piece;
    const int64_t dims = below(4);
    for (int64_t d = 0; d < dims; ++d) {
      shape.push_back(1 + below(5));
      piece.count.push_back(1 + below(shape.back()));
      piece.first.push_back(below(shape.back() - piece.count.back() + 1));
    }
    const int64_t inside = elements_of(piece.count);
    piece.begin = below(inside);
    piece.end = piece.begin + 1 + below(inside - piece.begin);
    ASSERT_EQ(problem_of(shape, piece), "");
    std::vector<int64_t> elements;
    for (const Stretch& stretch : stretches_of(shape, piece))
      for (int64_t i = 0; i < stretch.count; ++i) elements.push_back(stretch.element + i);
    ASSERT_EQ(elements, elements_by_counting(shape, piece)) << round;
    EXPECT_EQ(index_in_box(shape, piece, elements.front()), piece.begin);
  }
}

TEST(TensorPiece, OfRowsIsOneStretch) {
  const TensorPiece rows{.first = {2, 0, 0}, .count = {3, 4, 5}, .begin = 0, .end = 60};
  const auto stretches = stretches_of({7, 4, 5}, rows);
  ASSERT_EQ(stretches.size(), 1u);
  EXPECT_EQ(stretches[0].element, 40);
  EXPECT_EQ(stretches[0].count, 60);
}

TEST(TensorPiece, SaysWhatNoPartOfATensorCanBe) {
  EXPECT_EQ(problem_of({4}, {.first = {0, 0}, .count = {4}, .begin = 0, .end = 4}),
            "has 2 and 1 dims, but the tensor has 1");
  EXPECT_EQ(problem_of({4}, {.first = {2}, .count = {3}, .begin = 0, .end = 3}),
            "exceeds the tensor [4]");
  EXPECT_EQ(problem_of({4}, {.first = {INT64_MAX}, .count = {3}, .begin = 0, .end = 3}),
            "exceeds the tensor [4]");
  EXPECT_EQ(problem_of({4}, {.first = {0}, .count = {3}, .begin = 1, .end = 4}),
            "has elements 1 to 4 of 3");
  const int64_t big = int64_t{1} << 62;
  EXPECT_EQ(problem_of({big, 4}, {.first = {0, 0}, .count = {1, 1}, .begin = 0, .end = 1}),
            "has a shape that overflows");
}

}  // namespace
}  // namespace tessera
