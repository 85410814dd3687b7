// SPDX-License-Identifier: Apache-2.0
#include "verify/step_outcome.h"

#include <cmath>

#include "core/convert_elements.h"
#include "exec/train_step.h"
#include "ir/optimizer.h"

namespace tessera {
namespace {

OutcomeTensors gradients_of(const Executor& executor) {
  OutcomeTensors tensors;
  for (const StateBuffer& state : executor.program().states) {
    if (!state.has_gradient()) continue;
    std::vector<std::byte> bytes = unknown_bytes(state.gradient_type);
    executor.read_gradient(state, bytes);
    tensors[state.name] = {.values = to_doubles(state.gradient_type, bytes),
                           .dtype = state.gradient_type.dtype,
                           .parameter = state.name};
  }
  return tensors;
}

OutcomeTensors parameters_of(const Executor& executor) {
  OutcomeTensors tensors;
  const HostView& program = executor.program();
  for (const StateBuffer& state : program.states) {
    const bool parameter = state.spec.role == StateRole::Parameter;
    const bool has_master =
        parameter && program.find_state(fmt::format("{}.{}", state.name, kMaster.name)) != nullptr;
    if (!(parameter && !has_master) && state.spec.role != StateRole::Master &&
        state.spec.role != StateRole::Average)
      continue;
    std::vector<std::byte> bytes = unknown_bytes(state.type);
    executor.read_state(state, bytes);
    tensors[state.name] = {.values = to_doubles(state.type, bytes),
                           .dtype = state.type.dtype,
                           .parameter = parameter ? state.name : state.spec.parameter,
                           .balance_rate = state.spec.balance_rate};
  }
  return tensors;
}

OutcomeTensors loads_of(const std::vector<ExpertLoad>& layers) {
  OutcomeTensors tensors;
  for (const ExpertLoad& layer : layers)
    tensors[layer.block + ".load"] = {.values = {layer.counts.begin(), layer.counts.end()},
                                      .parameter = layer.block};
  return tensors;
}

}  // namespace

std::vector<std::byte> unknown_bytes(const TensorType& type) {
  return std::vector<std::byte>(static_cast<size_t>(type.bytes()), std::byte{0xff});
}

StepOutcome outcome_of(const Executor& executor) {
  const StepResults results = read_step_results(executor);
  std::map<std::string, double> router_losses;
  if (!std::isnan(results.balance_loss)) router_losses["balance loss"] = results.balance_loss;
  if (!std::isnan(results.z_loss)) router_losses["z loss"] = results.z_loss;
  return {.loss = results.loss,
          .grad_norm = results.grad_norm,
          .router_losses = std::move(router_losses),
          .gradients = gradients_of(executor),
          .parameters = parameters_of(executor),
          .loads = loads_of(results.loads)};
}

}  // namespace tessera
