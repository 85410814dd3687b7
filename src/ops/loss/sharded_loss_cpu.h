// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels over a sharded vocabulary: which classes a shard holds, and the loss.
#pragma once

#include "ops/loss/logits_cpu.h"
#include "ops/loss/sharded_loss.h"

namespace tessera {

// The classes of one shard: `first` to `first + count`; the other rows of its table are padding.
struct LocalClasses {
  int64_t vocabulary, first, count;

  LocalClasses(const CpuCall& call, size_t shard, int64_t rows)
      : vocabulary(call.attributes.integer("vocabulary")),
        first(*call.operand(shard).as<int32_t>() * rows),
        count(std::clamp<int64_t>(vocabulary - first, 0, rows)) {
    TESSERA_CHECK(first >= 0, "shard {}", *call.operand(shard).as<int32_t>());
  }
  // The label's column here, or -1 where another shard has it.
  int64_t column(int32_t label) const {
    TESSERA_CHECK(label < vocabulary, "label {} of a vocabulary of {}", label, vocabulary);
    return label >= first && label < first + count ? label - first : -1;
  }
};

// Sums the losses of rows whose label is not negative, in their order.
template <typename S>
double sum_of_sharded_losses(const S* all_max, const S* stats, const int32_t* labels,
                             int64_t rows) {
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row)
    if (labels[row] >= 0)
      sum += std::log(static_cast<double>(stats[row])) + static_cast<double>(all_max[row]) -
             static_cast<double>(stats[rows + row]);
  return sum;
}

}  // namespace tessera
