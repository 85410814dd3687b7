// SPDX-License-Identifier: Apache-2.0
// The one place where numbers of several ranks are combined, so every backend gives the same bits:
// in the order of the sources, bf16 in fp32 and rounded once, mean as the sum divided by the number
// of sources (int32: towards zero). A NaN stays a NaN under min and max.
#pragma once

#include <span>

#include "comm/part_layout.h"

namespace tessera {

// Combines elements [begin, end) of all sources and writes them to every target. A target may be
// one of the sources.
void reduce_parts(DType dtype, Reduction reduction, std::span<const Source> sources,
                  std::span<const Target> targets, int64_t begin, int64_t end);

}  // namespace tessera
