// SPDX-License-Identifier: Apache-2.0
#include "exec/causal_batches.h"

#include <algorithm>
#include <cstring>

#include "ir/op_list.h"

namespace tessera {

RowPattern::RowPattern(std::span<const std::byte> bytes, int64_t width)
    : counts_up(true), is_constant(true) {
  std::vector<int32_t> row(static_cast<size_t>(width));
  for (size_t at = 0; at < bytes.size(); at += row.size() * sizeof(int32_t)) {
    std::memcpy(row.data(), bytes.data() + at, row.size() * sizeof(int32_t));
    int32_t next = 0;
    for (const int32_t value : row) {
      counts_up = counts_up && value == next++;
      is_constant = is_constant && value == row.front();
    }
  }
}

CausalBatches::CausalBatches(const Program& program)
    : program_(program),
      rows_(program.batch_inputs.size(),
            std::vector<RowPattern>(static_cast<size_t>(program.microbatches))) {
  for (const ProgramBlock& block : program.blocks)
    for (const auto& routine : program.class_of(block).routines)
      for (const Instruction& instruction : routine)
        if (follows(block, instruction)) pairs_.push_back(inputs_of(block, instruction));
  std::ranges::sort(pairs_);
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
}

std::pair<int, int> CausalBatches::inputs_of(const ProgramBlock& block,
                                             const Instruction& instruction) const {
  const auto input_of = [&](int buffer) {
    const auto i = static_cast<size_t>(buffer);
    if (program_.class_of(block).buffers[i].lifetime != Lifetime::Window ||
        block.repeats[i] != Repeat::PerMicrobatch)
      return -1;
    const auto found =
        std::ranges::find(program_.batch_inputs, block.offsets[i], &HostBuffer::offset);
    return found == program_.batch_inputs.end()
               ? -1
               : static_cast<int>(found - program_.batch_inputs.begin());
  };
  const std::span<const int> operands = reads(instruction);
  const std::pair inputs(input_of(operands[operands.size() - 2]), input_of(operands.back()));
  return inputs.first < 0 || inputs.second < 0 ? std::pair(-1, -1) : inputs;
}

bool CausalBatches::follows(const ProgramBlock& block, const Instruction& instruction) const {
  const auto* kernel = instruction.as<KernelInstruction>();
  if (!kernel) return false;
  const size_t operands = kernel->operands.size();
  const bool own_keys = (kernel->op == OpKind::attention && operands == 5) ||
                        (kernel->op == OpKind::attention_grad && operands == 8);
  return own_keys && inputs_of(block, instruction).first >= 0;
}

void CausalBatches::note(const HostBuffer& input, int microbatch,
                         std::span<const std::byte> bytes) {
  const auto index = static_cast<int>(&input - program_.batch_inputs.data());
  const bool is_read = std::ranges::any_of(
      pairs_, [&](const auto& pair) { return pair.first == index || pair.second == index; });
  if (!is_read) return;
  rows_[static_cast<size_t>(index)][static_cast<size_t>(microbatch)] =
      RowPattern(bytes, input.type.dims.back().size);
}

bool CausalBatches::plain() const {
  return std::ranges::all_of(pairs_, [&](const auto& pair) {
    const auto& positions = rows_[static_cast<size_t>(pair.first)];
    const auto& documents = rows_[static_cast<size_t>(pair.second)];
    return std::ranges::all_of(positions, &RowPattern::counts_up) &&
           std::ranges::all_of(documents, &RowPattern::is_constant);
  });
}

}  // namespace tessera
