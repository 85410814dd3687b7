// SPDX-License-Identifier: Apache-2.0
#include "measure/step_profile.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "program/buffer_types.h"

namespace tessera {
namespace {

std::vector<TensorType> types_of(std::span<const TensorRef> refs) {
  std::vector<TensorType> types;
  for (const TensorRef& ref : refs)
    if (ref) types.push_back(*ref.type);
  return types;
}

}  // namespace

void StepProfile::observe(const InstructionEvent& event) {
  if (!event.finished) {
    begin_ = event.time;
    return;
  }
  auto found = entries_.find(&event.instruction);
  if (found == entries_.end()) {
    const std::vector<TensorType> operands = types_of(event.bound.operands);
    const std::vector<TensorType> results = types_of(event.bound.results);
    const OpKind op = event.instruction.op;
    const OpDef& def = op_def(op);
    const Cost cost = def.cost ? def.cost({op, event.instruction.attributes, operands, results})
                               : Cost{.flops = 0, .bytes = bytes_of(operands) + bytes_of(results)};
    found = entries_
                .emplace(&event.instruction,
                         Entry{op, event.instruction.phase, shape_text(operands), cost})
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
  std::map<std::tuple<OpKind, Phase, std::string>, ProfileRow> merged;
  const double steps = std::max(1, steps_);
  for (const auto& [instruction, entry] : entries_) {
    const std::string shape = by_shape ? entry.shape : "";
    ProfileRow& row = merged[{entry.op, entry.phase, shape}];
    row.op = name(entry.op);
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
