// SPDX-License-Identifier: Apache-2.0
// Pools of experts have room for more rows than come. What a kernel costs is a matter of those that
// come, of which the mean is known: every expert has its share of the tokens' choices. How much
// more the fullest rank gets is a matter of the load.
#pragma once

#include <span>
#include <vector>

#include "program/program.h"

namespace tessera {

// The experts of a class, how many of them are a rank's own, and how many a token chooses; all 0
// where it has none.
struct ExpertShare {
  int64_t experts = 0, own = 0, top_k = 0;
  int64_t ranks() const { return own == 0 ? 1 : experts / own; }
};
ExpertShare expert_share_of(const ProgramClass& program_class);

// The types of buffers, with pools as large as what comes into them: `load` times the mean.
std::vector<TensorType> mean_types_of(const ProgramClass& program_class,
                                      std::span<const int> buffers, double load = 1);

// What a rank puts into a collective, sends or receives; of rows of experts, the mean.
int64_t given_bytes(const ProgramClass& program_class, const Instruction& instruction);

}  // namespace tessera
