// SPDX-License-Identifier: Apache-2.0
// The rate at which our own product multiplies large matrices on this machine: the peak that MFU is
// measured against when none is given.
#pragma once

namespace tessera {

// Flops per second of fp32 matmuls of 1024 x 1024 on that many threads; takes about 50 ms.
double measure_matmul_rate(int threads);

}  // namespace tessera
