// SPDX-License-Identifier: Apache-2.0
// Whether a batch is plain causal: positions count up from 0 in every row and every row is one
// document, so that a query sees the keys up to its own. The host knows; a kernel would have to
// look.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "program/program.h"

namespace tessera {

// Of int32 rows of `width` elements: whether each is 0, 1, 2 and so on, or one number throughout.
struct RowPattern {
  bool counts_up = false, is_constant = false;
  RowPattern() = default;
  RowPattern(std::span<const std::byte> bytes, int64_t width);
};

class CausalBatches {
 public:
  explicit CausalBatches(const Program& program);

  // What was written as a batch input of a microbatch.
  void note(const HostBuffer& input, int microbatch, std::span<const std::byte> bytes);

  // Of all microbatches, for every attention that `follows`.
  bool plain() const;
  // Whether what the instruction sees follows from batch inputs: it is attention, and its keys are
  // those of its queries.
  bool follows(const ProgramBlock& block, const Instruction& instruction) const;

 private:
  // Batch inputs, by index; {-1, -1} where they are not both.
  std::pair<int, int> inputs_of(const ProgramBlock& block, const Instruction& instruction) const;

  const Program& program_;
  std::vector<std::pair<int, int>> pairs_;     // positions and document of some attention
  std::vector<std::vector<RowPattern>> rows_;  // by batch input and microbatch
};

}  // namespace tessera
