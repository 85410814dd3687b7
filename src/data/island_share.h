// SPDX-License-Identifier: Apache-2.0
// The samples of one island: those that a data-parallel rank of the same number would get of every
// batch. Its sample number n lies in the island's own batch n / (its batch size).
#pragma once

#include <memory>

#include "data/batch.h"

namespace tessera {

struct IslandShare {
  int index = 0, islands = 1;
  int64_t batch = 1, microbatches = 1;  // of all islands together
};

// `whole` must outlive it.
std::unique_ptr<SampleSource> share_of_island(const SampleSource& whole, const IslandShare& share);

}  // namespace tessera
