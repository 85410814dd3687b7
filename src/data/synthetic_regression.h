// SPDX-License-Identifier: Apache-2.0
// Synthetic data for the `mlp` model, generated on the fly: x is normal, y is a fixed function of x
// that a network can learn (tanh of a few random projections of x, mixed). Both have mean 0 and
// deviation near 1.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "data/batch.h"
#include "data/token_sampler.h"

namespace tessera {

struct SyntheticRegressionOptions {
  int64_t width = 0;  // of x and of y
  uint64_t seed = 0;
  DType dtype = DType::Fp32;   // Fp32, Fp64 or Bf16
  Split split = Split::Train;  // held-out samples never occur in training
  int64_t samples_per_epoch = 65'536;
};

class SyntheticRegression : public SampleSource {
 public:
  explicit SyntheticRegression(SyntheticRegressionOptions options);

  std::span<const InputField> fields() const override { return fields_; }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override;

 private:
  SyntheticRegressionOptions options_;
  RandomStream draws_;
  std::vector<double> directions_;  // kDirections x width
  std::vector<double> mixing_;      // width x kDirections
  std::vector<InputField> fields_;
};

}  // namespace tessera
