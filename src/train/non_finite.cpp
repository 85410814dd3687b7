// SPDX-License-Identifier: Apache-2.0
#include "train/non_finite.h"

#include <algorithm>
#include <cmath>

#include "core/to_doubles.h"

namespace tessera {
namespace {

bool is_finite(const TensorType& type, const std::vector<std::byte>& bytes) {
  const std::vector<double> values = to_doubles(type, bytes);
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

std::vector<std::byte> room_for(const TensorType& type) {
  return std::vector<std::byte>(static_cast<size_t>(type.bytes()));
}

}  // namespace

// Numbers flow from parameters through the loss to gradients, and those are made from the last
// block to the first. Every process reads all of them: reading is a collective.
std::string first_non_finite(const Executor& executor, double loss) {
  std::string parameter, gradient;
  for (const StateBuffer& state : executor.program().states) {
    if (state.spec.role != StateRole::Parameter) continue;
    std::vector<std::byte> bytes = room_for(state.type);
    executor.read_state(state, bytes);
    if (parameter.empty() && !is_finite(state.type, bytes)) parameter = state.name;
    if (!state.has_gradient()) continue;
    bytes = room_for(state.gradient_type);
    executor.read_gradient(state, bytes);
    if (!is_finite(state.gradient_type, bytes)) gradient = state.name;
  }
  if (!parameter.empty()) return parameter;
  if (!std::isfinite(loss)) return "the loss";
  return gradient.empty() ? "the gradient norm" : "the gradient of " + gradient;
}

}  // namespace tessera
