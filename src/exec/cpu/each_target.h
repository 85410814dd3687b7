// SPDX-License-Identifier: Apache-2.0
// Reads the file that HWY_TARGET_INCLUDE names once for each instruction set that kernels are
// compiled for: AVX-512, AVX2 and, as the least on x86-64, SSE4; NEON on ARM. Vectors whose size is
// known only when the program runs (SVE) are left out: lanes.h keeps vectors in arrays.
#pragma once

#define HWY_WANT_SSE4 1
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include <hwy/foreach_target.h>
