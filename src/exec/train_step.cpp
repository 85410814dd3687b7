// SPDX-License-Identifier: Apache-2.0
#include "exec/train_step.h"

#include <cmath>

namespace tessera {

StepResults run_train_step(Executor& executor, const StepInputs& inputs) {
  executor.write_step("learning_rate", inputs.learning_rate);
  executor.write_step("step", static_cast<double>(inputs.step));
  executor.run("train_step");
  return read_step_results(executor);
}

double read_expert_need(const Executor& executor) {
  return executor.program().find_step_value("expert_need") ? executor.read_step("expert_need") : 0;
}

StepResults read_step_results(const Executor& executor) {
  StepResults results{.loss = executor.read_step("loss"),
                      .grad_norm = std::sqrt(executor.read_step("norm_squares"))};
  const HostView& program = executor.program();
  if (program.find_step_value("balance_loss"))
    results.balance_loss = executor.read_step("balance_loss");
  if (program.find_step_value("z_loss")) results.z_loss = executor.read_step("z_loss");
  results.loads = read_expert_loads(executor);
  return results;
}

std::vector<ExpertLoad> read_expert_loads(const Executor& executor) {
  std::vector<ExpertLoad> layers;
  if (executor.program().loads.empty()) return layers;
  const std::vector<int32_t> all = executor.read_loads();
  auto at = all.begin();
  for (const HostBuffer& load : executor.program().loads) {
    const auto end = at + load.type.num_elements();
    layers.push_back({.block = load.name, .counts = {at, end}});
    at = end;
  }
  return layers;
}

}  // namespace tessera
