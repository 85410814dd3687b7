// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/random.h"

namespace tessera {
namespace {

struct Shape {
  int64_t m, n, k;
};
// Edges of strips (6), panels (64 floats, 32 doubles), vectors and blocks of k (384); one row, one
// column, one step.
constexpr Shape kShapes[] = {{1, 1, 1},      {5, 15, 3},    {6, 64, 8},    {7, 65, 17},
                             {12, 48, 100},  {97, 130, 64}, {30, 33, 385}, {19, 203, 770},
                             {13, 600, 384}, {195, 70, 90}};

template <typename T>
std::vector<T> random_values(int64_t count, std::string_view purpose) {
  const RandomStream random(3, purpose);
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = store<T>(static_cast<Accumulator<T>>(random.uniform(i) - 0.5));
  return values;
}

// Operands with rows longer than they need to be, and what the product should be in double.
template <typename A, typename B, typename C>
struct Case {
  static constexpr int64_t kPadding = 3;
  Shape shape;
  bool a_transposed, b_transposed, accumulate;
  std::vector<A> a = random_values<A>((shape.m + kPadding) * (shape.k + kPadding), "a");
  std::vector<B> b = random_values<B>((shape.n + kPadding) * (shape.k + kPadding), "b");
  std::vector<C> before = random_values<C>(shape.m * (shape.n + kPadding), "c");

  Gemm<A, B, C> product(std::vector<C>& c) const {
    return {.m = shape.m,
            .n = shape.n,
            .k = shape.k,
            .a = {a.data(), (a_transposed ? shape.m : shape.k) + kPadding, a_transposed},
            .b = {b.data(), (b_transposed ? shape.k : shape.n) + kPadding, b_transposed},
            .c = c.data(),
            .c_stride = shape.n + kPadding,
            .accumulate = accumulate};
  }

  std::vector<C> run(int threads, const TileDone* tile_done = nullptr) const {
    std::vector<C> c = before;
    ThreadPool pool(threads);
    const int64_t bytes =
        gemm_workspace_bytes(shape.m, shape.n, shape.k, sizeof(Accumulator<C>), threads);
    // NaN where a number is read that nobody wrote.
    std::vector<std::byte> workspace(static_cast<size_t>(bytes) + 64, std::byte{0xff});
    void* begin = workspace.data();
    size_t space = workspace.size();
    std::align(64, static_cast<size_t>(bytes), begin, space);
    Gemm<A, B, C> g = product(c);
    g.tile_done = tile_done;
    gemm(g, pool, {static_cast<std::byte*>(begin), static_cast<size_t>(bytes)});
    return c;
  }

  std::vector<double> exact() const {
    std::vector<C> c = before;
    const Gemm<A, B, C> g = product(c);
    std::vector<double> row(static_cast<size_t>(shape.n)), sums;
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j)
        row[j] = accumulate ? load(before[i * g.c_stride + j]) : 0.0;
      for (int64_t p = 0; p < shape.k; ++p) {
        const double x = load(*g.a.at(i, p).data);
        const Matrix<B> b_row = g.b.at(p, 0);
        const int64_t step = b_transposed ? b_row.stride : 1;
        for (int64_t j = 0; j < shape.n; ++j)
          row[j] += x * static_cast<double>(load(b_row.data[j * step]));
      }
      sums.insert(sums.end(), row.begin(), row.end());
    }
    return sums;
  }

  // The largest error over the largest element; infinite where C's padding was touched.
  double error() const {
    const std::vector<C> c = run(2);
    const std::vector<double> sums = exact();
    const int64_t stride = shape.n + kPadding;
    double error = 0, largest = 0;
    for (int64_t i = 0; i < shape.m; ++i) {
      if (std::memcmp(&c[i * stride + shape.n], &before[i * stride + shape.n],
                      kPadding * sizeof(C)))
        return INFINITY;
      for (int64_t j = 0; j < shape.n; ++j) {
        const double sum = sums[i * shape.n + j];
        error = std::max(error, std::abs(sum - static_cast<double>(load(c[i * stride + j]))));
        largest = std::max(largest, std::abs(sum));
      }
    }
    return error / largest;
  }
};

template <typename A, typename B, typename C>
void expect_right(double tolerance) {
  for (const Shape& shape : kShapes)
    for (const int flags : {0, 1, 2, 3, 4, 7}) {
      const Case<A, B, C> c{shape, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
      EXPECT_LE(c.error(), tolerance)
          << shape.m << " x " << shape.n << " x " << shape.k << " flags " << flags;
    }
}

TEST(Gemm, MatchesPlainLoopsInEveryDtypeAndOrientation) {
  expect_right<double, double, double>(1e-14);
  expect_right<float, float, float>(2e-6);
  expect_right<Bf16, Bf16, float>(2e-6);
  expect_right<Bf16, Bf16, Bf16>(4e-3);
  expect_right<float, Bf16, float>(2e-6);
  expect_right<float, Bf16, Bf16>(4e-3);
}

// The first rows alone, beside the same rows among many.
template <typename A, typename B, typename C>
void expect_bits_of_many_rows() {
  for (const Shape& shape : {Shape{9, 70, 33}, Shape{14, 1200, 500}}) {
    const Case<A, B, C> many{shape, false, false, false};
    const std::vector<C> whole = many.run(2);
    for (const int64_t rows : {1, 2, 4}) {
      Case<A, B, C> few = many;
      few.shape.m = rows;
      const std::vector<C> part = few.run(2);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t at = i * (shape.n + many.kPadding);
        EXPECT_EQ(std::memcmp(&part[at], &whole[at], shape.n * sizeof(C)), 0)
            << "row " << i << " of " << rows << ", " << shape.n << " x " << shape.k;
      }
    }
  }
}

TEST(Gemm, FewRowsHaveTheBitsThatTheyHaveAmongMany) {
  expect_bits_of_many_rows<float, float, float>();
  expect_bits_of_many_rows<double, double, double>();
  expect_bits_of_many_rows<float, Bf16, float>();
  expect_bits_of_many_rows<Bf16, Bf16, Bf16>();
}

template <typename T>
void expect_same_bits() {
  for (const Shape& shape : kShapes)
    for (const bool transposed : {false, true}) {
      const Case<T, T, T> c{shape, transposed, transposed, true};
      const std::vector<T> alone = c.run(1);
      for (const int threads : {2, 3, 5, 16}) {
        const std::vector<T> together = c.run(threads);
        EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(T)), 0)
            << shape.m << " x " << shape.n << " x " << shape.k << " on " << threads << " threads";
      }
    }
}

TEST(Gemm, ThreadsDoNotChangeBits) {
  expect_same_bits<double>();
  expect_same_bits<float>();
  expect_same_bits<Bf16>();
}

class CountTiles final : public TileDone {
 public:
  CountTiles(int64_t m, int64_t n) : n_(n), counts_(static_cast<size_t>(m * n)) {}
  void operator()(const Tile& tile) const override {
    for (int64_t i = tile.first_row; i < tile.last_row; ++i)
      for (int64_t j = tile.first_column; j < tile.last_column; ++j)
        counts_[static_cast<size_t>(i * n_ + j)] += 1;
  }
  const std::vector<int>& counts() const { return counts_; }

 private:
  int64_t n_;
  mutable std::vector<int> counts_;
};

TEST(Gemm, FinishesEveryElementInExactlyOneTile) {
  for (const Shape& shape : kShapes) {
    const CountTiles done(shape.m, shape.n);
    Case<Bf16, Bf16, Bf16>{shape, false, false, false}.run(3, &done);
    for (const int count : done.counts())
      ASSERT_EQ(count, 1) << shape.m << " x " << shape.n << " x " << shape.k;
  }
}

TEST(Gemm, RefusesAWorkspaceThatIsTooSmall) {
  std::vector<float> a(64), b(64), c(64);
  ThreadPool pool(2);
  const Gemm<float, float, float> g{
      .m = 8, .n = 8, .k = 8, .a = {a.data(), 8}, .b = {b.data(), 8}, .c = c.data(), .c_stride = 8};
  EXPECT_THROW(gemm(g, pool, {}), InternalError);
}

}  // namespace
}  // namespace tessera
