// SPDX-License-Identifier: Apache-2.0
// Samples of several sources, by weight. Every 10,000 samples hold each source's share exactly, in
// an order computed from the seed and the global sample index: no table, no state, so a run can
// resume at any sample, on any mesh.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/batch.h"

namespace tessera {

// Whole numbers in proportion to the weights that add up to 10,000; 0 for a weight too small.
std::vector<int64_t> shares_of(std::span<const double> weights);

class Mixture : public SampleSource {
 public:
  // All sources have the same fields.
  Mixture(std::vector<std::unique_ptr<SampleSource>> sources, std::span<const double> weights,
          uint64_t seed);

  std::span<const InputField> fields() const override { return sources_.front()->fields(); }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override;

  struct Place {
    size_t source;
    int64_t sample;  // of that source
  };
  Place place_of(int64_t sample_index) const;

 private:
  std::vector<std::unique_ptr<SampleSource>> sources_;
  std::vector<int64_t> ends_;  // of each source's share in a block
  uint64_t seed_;
};

}  // namespace tessera
