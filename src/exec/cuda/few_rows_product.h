// SPDX-License-Identifier: Apache-2.0
// Products of at most eight rows of bf16 on a GPU, as the tokens of texts that are being written
// have them: they read B once, at the rate of memory. Sums are kept in fp32, in an order that
// sizes alone decide.
#pragma once

#include "exec/cuda/matrix_products.h"

namespace tessera {

// Whether enqueue_few_rows takes it: C = A B, with a bias and an addend or without.
bool has_few_rows(const DeviceProduct& product);
void enqueue_few_rows(const DeviceProduct& product, cudaStream_t stream);

}  // namespace tessera
