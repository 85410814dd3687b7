// SPDX-License-Identifier: Apache-2.0
#include "data/row_samples.h"

#include <algorithm>
#include <numeric>

#include "data/token_sampler.h"

namespace tessera {

RowSamples::RowSamples(std::vector<Row> rows, int64_t seq) : rows_(std::move(rows)), seq_(seq) {
  for (const char* name : {"tokens", "labels", "positions", "document"})
    fields_.push_back({.name = name, .dtype = DType::Int32, .elements = seq_});
}

void RowSamples::fill(int64_t sample_index, Batch& batch, int64_t row) const {
  const Row& from = rows_[static_cast<size_t>(sample_index) % rows_.size()];
  const auto put = [&](size_t field, const std::vector<int32_t>& values, int32_t filler) {
    const auto to = batch.row<int32_t>(field, row);
    std::fill(std::copy(values.begin(), values.end(), to.begin()), to.end(), filler);
  };
  put(0, from.tokens, 0);
  put(1, from.labels, kIgnoredLabel);
  const auto positions = batch.row<int32_t>(2, row);
  std::iota(positions.begin(), positions.end(), 0);
  put(3, {}, 0);
}

}  // namespace tessera
