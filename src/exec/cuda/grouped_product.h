// SPDX-License-Identifier: Apache-2.0
// Products of the rows of every expert with that expert's weights, in one launch. The rows of all
// experts lie one expert after another; `ends`, in GPU memory, says where each one's end, so
// nothing waits for the host and a captured graph serves every routing. bf16 with sums in fp32, on
// Hopper.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tessera {

enum class GroupedForm {
  Forward,         // y[rows, n] = x[rows, k] w[expert]
  InputGradient,   // dx[rows, k] = dy[rows, n] w[expert]^T
  WeightGradient,  // dw[expert] = x^T dy, over the rows of the expert
};

struct GroupedProduct {
  GroupedForm form;
  int64_t rows, experts, k, n;  // rows that there is room for; w is [experts, k, n]
  const void* a;                // x or dy: what has rows
  const void* b;                // w, or dy of a weight gradient
  void* c;
  const int32_t* ends;       // [experts]
  bool full_result = false;  // fp32, of a weight gradient
  bool accumulate = false;   // into a weight gradient
};

// Sizes that the copy engine can address, on a GPU of compute capability 9.0.
bool can_group(const GroupedProduct& product);
// Rows beyond the last end are neither read as terms nor written.
void enqueue_grouped(const GroupedProduct& product, cudaStream_t stream);

}  // namespace tessera
