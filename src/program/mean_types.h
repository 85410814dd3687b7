// SPDX-License-Identifier: Apache-2.0
// Pools of experts have room for more rows than come. What a kernel costs is a matter of those that
// come, of which the mean is known: every expert has its share of the tokens' choices.
#pragma once

#include <span>
#include <vector>

#include "program/program.h"

namespace tessera {

// The types of buffers, with pools as large as what comes into them on average.
std::vector<TensorType> mean_types_of(const ProgramClass& program_class,
                                      std::span<const int> buffers);

}  // namespace tessera
