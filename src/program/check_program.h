// SPDX-License-Identifier: Apache-2.0
// The static check: walks scripts as ranks would run them, before the first step, and refuses what
// could go wrong between ranks or in memory. Throws a ProgramError that names script, block,
// routine and instruction.
#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "program/program.h"

namespace tessera {

class ProgramError : public std::runtime_error {
 public:
  explicit ProgramError(const std::string& message) : std::runtime_error(message) {}
};

// One rank: nothing is read before it is written, nothing is touched while a collective fills or
// reads it, every collective that is started is waited for once.
void check_memory(const Program& program);

// Ranks that run programs of their own, by rank: members of a group start the same collectives in
// the same order, and every wait ends.
void check_collectives(std::span<const Program* const> programs);

// The same for the programs of a pipeline, by place along it: simulates one rank of each, with the
// messages between them.
void check_pipeline(std::span<const Program> programs);

}  // namespace tessera
