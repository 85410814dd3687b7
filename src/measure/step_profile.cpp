// SPDX-License-Identifier: Apache-2.0
#include "measure/step_profile.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "program/buffer_types.h"
#include "program/program_work.h"

namespace tessera {

void StepProfile::observe(const InstructionEvent& event) {
  if (!event.finished) {
    begin_ = event.time;
    return;
  }
  auto found = entries_.find(&event.instruction);
  if (found == entries_.end()) {
    const std::vector<TensorType> operands =
        types_of(event.program_class, reads(event.instruction));
    found = entries_
                .emplace(&event.instruction,
                         Entry{std::string(name(event.instruction)), event.instruction.phase,
                               shape_text(operands),
                               cost_of(event.program, event.program_class, event.instruction)})
                .first;
  }
  ++found->second.calls;
  found->second.seconds += std::chrono::duration<double>(event.time - begin_).count();
}

void StepProfile::clear() {
  for (auto& [instruction, entry] : entries_) {
    entry.calls = 0;
    entry.seconds = 0;
  }
  steps_ = 0;
}

std::vector<ProfileRow> StepProfile::rows(bool by_shape) const {
  std::map<std::tuple<std::string, Phase, std::string>, ProfileRow> merged;
  const double steps = std::max(1, steps_);
  for (const auto& [instruction, entry] : entries_) {
    const std::string shape = by_shape ? entry.shape : "";
    ProfileRow& row = merged[{entry.op, entry.phase, shape}];
    row.op = entry.op;
    row.phase = name(entry.phase);
    row.shape = shape;
    row.calls += entry.calls;
    row.seconds += entry.seconds / steps;
    row.flops += static_cast<double>(entry.cost.flops * entry.calls) / steps;
    row.bytes += static_cast<double>(entry.cost.bytes * entry.calls) / steps;
  }
  std::vector<ProfileRow> rows;
  for (auto& [key, row] : merged) {
    row.calls /= std::max(1, steps_);
    if (row.calls > 0) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return rows;
}

}  // namespace tessera
