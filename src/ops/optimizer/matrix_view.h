// SPDX-License-Identifier: Apache-2.0
// Where the matrices of parameters lie in a flat buffer, as an attribute says it. A parameter is
// where it begins, then its factors, outermost first: of a stack of matrices (s), of rows (r) or of
// columns (c), each with its size and stride. "0.s2-24.r48-48.c24-1" is two matrices of 48 x 24
// side by side. A dim that ranks split has a factor for the ranks and one for what each has.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace tessera {

// Dims as if they were one; the last factor varies fastest.
struct StridedFactors {
  struct Factor {
    int64_t size, stride;
  };
  static constexpr int kMost = 8;
  Factor factors[kMost] = {};
  int count = 0;

  constexpr int64_t size() const {
    int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= factors[i].size;
    return product;
  }
  // Where entry i is, from the first one.
  constexpr int64_t place(int64_t i) const {
    int64_t at = 0;
    for (int k = count - 1; k >= 0; --k) {
      at += i % factors[k].size * factors[k].stride;
      i /= factors[k].size;
    }
    return at;
  }
  // Neighbours that are one run become one factor.
  constexpr void add(Factor factor) {
    if (factor.size == 1) return;
    if (count > 0 && factors[count - 1].stride == factor.size * factor.stride) {
      factors[count - 1] = {factors[count - 1].size * factor.size, factor.stride};
      return;
    }
    TESSERA_CHECK(count < kMost, "a matrix is in too many pieces");
    factors[count++] = factor;
  }
};

// A parameter's matrices, all of one shape.
struct MatrixView {
  int64_t begin = 0;
  StridedFactors stack = {}, rows = {}, cols = {};

  // The shorter side and the longer.
  constexpr const StridedFactors& outer() const { return rows.size() <= cols.size() ? rows : cols; }
  constexpr const StridedFactors& inner() const { return rows.size() <= cols.size() ? cols : rows; }
};

inline std::string to_text(const MatrixView& view) {
  std::string text = std::to_string(view.begin);
  const auto add = [&](char kind, const StridedFactors& dims) {
    for (int i = 0; i < dims.count; ++i)
      text += std::string(".") + kind + std::to_string(dims.factors[i].size) + "-" +
              std::to_string(dims.factors[i].stride);
  };
  add('s', view.stack);
  add('r', view.rows);
  add('c', view.cols);
  return text;
}

// Allocates nothing, because kernels read it.
inline MatrixView parse_matrix_view(std::string_view text) {
  const std::string_view whole = text;
  const auto number = [&] {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    TESSERA_CHECK(error == std::errc() && value >= 0, "no view of matrices: {}", whole);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
  };
  const auto skip = [&](char wanted) {
    TESSERA_CHECK(!text.empty() && text.front() == wanted, "no view of matrices: {}", whole);
    text.remove_prefix(1);
  };
  MatrixView view{.begin = number()};
  while (!text.empty()) {
    skip('.');
    const char kind = text.empty() ? '.' : text.front();
    skip(kind);
    const int64_t size = number();
    skip('-');
    const StridedFactors::Factor factor{size, number()};
    TESSERA_CHECK(kind == 's' || kind == 'r' || kind == 'c', "no view of matrices: {}", whole);
    (kind == 's' ? view.stack : kind == 'r' ? view.rows : view.cols).add(factor);
  }
  return view;
}

// f(view) of every parameter in "VIEW+VIEW".
template <typename F>
void for_each_view(std::string_view views, F&& f) {
  while (!views.empty()) {
    f(parse_matrix_view(views.substr(0, views.find('+'))));
    views.remove_prefix(std::min(views.find('+'), views.size() - 1) + 1);
  }
}

// f(views, first, end) of every run of parameters whose matrices have one shape: those numbered
// [first, end).
template <typename F>
void for_each_like_run(std::string_view views, F&& f) {
  int64_t first = 0;
  while (!views.empty()) {
    const MatrixView like = parse_matrix_view(views.substr(0, views.find('+')));
    int64_t end = first;
    size_t length = 0;
    bool same = true;
    for_each_view(views, [&](const MatrixView& view) {
      same &=
          view.outer().size() == like.outer().size() && view.inner().size() == like.inner().size();
      if (!same) return;
      end += view.stack.size();
      length = std::min(views.find('+', length + (length > 0)), views.size());
    });
    f(views.substr(0, length), first, end);
    views.remove_prefix(std::min(length + 1, views.size()));
    first = end;
  }
}

// f(view, begin) of every matrix that this rank owns: they are dealt out to `ranks` one by one.
template <typename F>
void for_each_owned_matrix(std::string_view views, int64_t ranks, int64_t index, F&& f) {
  int64_t dealt = 0;
  for_each_view(views, [&](const MatrixView& view) {
    const int64_t stacked = view.stack.size();
    for (int64_t i = 0; i < stacked; ++i) {
      if (dealt++ % ranks != index) continue;
      f(view, view.begin + view.stack.place(i));
    }
  });
}

}  // namespace tessera
