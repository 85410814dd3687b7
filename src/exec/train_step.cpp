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

StepResults read_step_results(const Executor& executor) {
  return {.loss = executor.read_step("loss"),
          .grad_norm = std::sqrt(executor.read_step("norm_squares"))};
}

}  // namespace tessera
