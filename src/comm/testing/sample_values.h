// SPDX-License-Identifier: Apache-2.0
// Made numbers per rank and element, as bytes of any dtype, and the reference for reductions: a
// plain loop over ranks, element by element, written without the code under test.
#pragma once

#include <cstdint>

#include "comm/communicator.h"

namespace tessera {

// Element `element` of the value that `rank` contributes; rounded to the dtype, exact for int32.
double sample_value(int rank, int64_t element);
void put_value(DType dtype, std::byte* data, int64_t index, double value);
// The bits of one element, so that comparison is exact.
uint64_t bits_at(DType dtype, const std::byte* data, int64_t index);
uint64_t bits_of_sample(DType dtype, int rank, int64_t element);
uint64_t bits_of_reduction(DType dtype, Reduction reduction, int ranks, int64_t element);

}  // namespace tessera
