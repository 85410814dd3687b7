// SPDX-License-Identifier: Apache-2.0
// The least time a training step can take: every matmul that the maths needs, once each, at
// OpenBLAS's rate on those shapes. It follows from the model's config alone, never from our
// program. Norms, softmax, loss, optimizer and all memory traffic beside the matmuls count nothing.
#pragma once

#include <string>
#include <vector>

#include "exec/cpu/openblas_rate.h"
#include "models/model_config.h"

namespace tessera {

struct FloorMatmul {
  std::string name;  // "up forward"
  MatmulShape shape;
  double count = 0;       // per step; causal attention counts half of each square
  bool per_head = false;  // small and many: timed as one whole matmul per thread at a time

  double flops() const { return count * shape.flops(); }
};

// Three per weight: forward, input gradient, weight gradient. Weights that read the same input (q,
// k and v; gate and up) are one, which is never slower. Per query head: two forward and five
// backward, the scores being computed again. `microbatch` is the shape of one of `microbatches`.
std::vector<FloorMatmul> floor_matmuls(const ModelConfig& config, BatchShape microbatch,
                                       int microbatches);

struct FloorRate {
  FloorMatmul matmul;
  double seconds = 0;     // of one
  bool threaded = false;  // OpenBLAS's own threads were faster than an even split
};

// Measured in rounds, so that a caller can put other measurements between them: on a noisy machine
// only what was measured side by side can be compared.
class StepFloor {
 public:
  StepFloor(std::vector<FloorMatmul> matmuls, int threads);

  void measure_round();
  // Each matmul at the median of its rounds, in the faster of both ways.
  std::vector<FloorRate> rates() const;
  double seconds() const;

 private:
  struct Samples {
    FloorMatmul matmul;
    std::vector<double> threaded, split;
  };
  std::vector<Samples> samples_;
  OpenblasTimer timer_;
};

}  // namespace tessera
