// SPDX-License-Identifier: Apache-2.0
// Hands a batch to an executor, microbatch by microbatch: rows of the batch in order, inputs
// matched by name.
#pragma once

#include <vector>

#include "data/batch.h"
#include "exec/executor.h"

namespace tessera {

class BatchFeeder {
 public:
  // Checks once that names, dtypes and sizes agree.
  BatchFeeder(Executor& executor, std::span<const InputField> fields, int64_t samples_per_batch);

  void feed(const Batch& batch);

 private:
  struct Route {
    const HostBuffer* input;
    size_t field;
  };
  Executor& executor_;
  std::vector<Route> routes_;
};

}  // namespace tessera
