// SPDX-License-Identifier: Apache-2.0
// Applied to each row of a tile of the matmul by the core that computed it, while it is in the
// cache: row(at, column, count), `at` the row's first element in the result, `column` its column.
#pragma once

#include "exec/cpu/gemm.h"

namespace tessera {

template <typename Row>
class FinishedRows final : public TileDone {
 public:
  FinishedRows(int64_t columns, Row row) : columns_(columns), row_(std::move(row)) {}

  void operator()(const Tile& tile) const override {
    for (int64_t row = tile.first_row; row < tile.last_row; ++row)
      row_(row * columns_ + tile.first_column, tile.first_column,
           tile.last_column - tile.first_column);
  }

 private:
  int64_t columns_;
  Row row_;
};

}  // namespace tessera
