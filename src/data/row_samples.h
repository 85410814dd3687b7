// SPDX-License-Identifier: Apache-2.0
// Samples in memory, as rows of tokens and of labels (the tokens that should come next); a negative
// label is ignored. Shorter rows are padded at their end, where no earlier token can see it.
#pragma once

#include <vector>

#include "data/batch.h"

namespace tessera {

class RowSamples : public SampleSource {
 public:
  struct Row {
    std::vector<int32_t> tokens, labels;  // as many of each, at most seq
  };
  RowSamples(std::vector<Row> rows, int64_t seq);

  const std::vector<Row>& rows() const { return rows_; }
  int64_t seq() const { return seq_; }
  std::span<const InputField> fields() const override { return fields_; }
  // After the last row comes the first again.
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override;

 private:
  std::vector<Row> rows_;
  int64_t seq_;
  std::vector<InputField> fields_;
};

}  // namespace tessera
