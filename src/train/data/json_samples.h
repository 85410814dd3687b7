// SPDX-License-Identifier: Apache-2.0
// Samples from a JSON file: {"tokens": [[5, 9, 2], ...], "labels": [[9, 2, -1], ...]}. A label is
// the token that should follow at its place, a negative one none; without labels they are the next
// tokens. Shorter rows are filled up behind their end, where nothing before can see it.
#pragma once

#include <filesystem>
#include <vector>

#include "train/data/batch.h"

namespace tessera {

class JsonSamples : public SampleSource {
 public:
  // Tokens and labels must be below `vocabulary`.
  JsonSamples(const std::filesystem::path& path, int64_t vocabulary);

  int64_t seq() const { return seq_; }  // of the longest row
  int64_t samples() const { return static_cast<int64_t>(rows_.size()); }
  std::span<const InputField> fields() const override { return fields_; }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override;

 private:
  struct Row {
    std::vector<int32_t> tokens, labels;
  };
  std::vector<Row> rows_;
  int64_t seq_ = 0;
  std::vector<InputField> fields_;
};

}  // namespace tessera
