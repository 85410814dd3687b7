// SPDX-License-Identifier: Apache-2.0
// The most fp32 flops per second that this machine's cores do: multiply-adds on registers alone, in
// the widest vectors there are. No matmul can be faster.
#pragma once

#include "exec/cpu/thread_pool.h"

namespace tessera {

// All threads at once; takes about 20 ms.
double measure_peak_rate(ThreadPool& threads);

}  // namespace tessera
