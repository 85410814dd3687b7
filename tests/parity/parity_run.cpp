// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_run.h"

#include <algorithm>
#include <cmath>

#include "compiler/compile.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/device.h"
#include "exec/train_step.h"
#include "models/build_model.h"

namespace tessera {
namespace {

constexpr uint64_t kSeed = 7;

std::unique_ptr<Executor> make_executor(const ParityCase& parity_case, DType dtype,
                                        ParityMachine machine) {
  Module module = build_model(parity_case.model, parity_case.shape, dtype, HeadKind::Loss);
  CompileOptions options;
  options.optimizer = parity_case.optimizer;
  options.profile.threads = machine.threads;
  options.microbatches = parity_case.microbatches;
  std::vector<Program> programs = compile(std::move(module), options).programs;
  if (machine.gpu)
    return require_device(DeviceKind::Cuda).make_executor(std::move(programs), {.poison = true});
  return std::make_unique<CpuExecutor>(
      std::move(programs.front()), CpuExecutorOptions{.threads = machine.threads, .poison = true});
}

NamedTensor read_state(const Executor& executor, std::string name, const StateBuffer& state) {
  NamedTensor tensor{std::move(name), state.type, {}};
  tensor.bytes.resize(static_cast<size_t>(state.type.bytes()));
  executor.read_state(state, tensor.bytes);
  return tensor;
}

std::vector<NamedTensor> read_weights(const Executor& executor) {
  const auto& states = executor.program().states;
  std::vector<NamedTensor> weights;
  for (const StateBuffer& state : states) {
    if (state.spec.role != StateRole::Parameter) continue;
    const auto master = std::find_if(states.begin(), states.end(), [&](const StateBuffer& other) {
      return other.spec.role == StateRole::Master && other.spec.parameter == state.name;
    });
    weights.push_back(read_state(executor, state.name, master == states.end() ? state : *master));
  }
  return weights;
}

std::vector<NamedTensor> read_averages(const Executor& executor) {
  std::vector<NamedTensor> averages;
  for (const StateBuffer& state : executor.program().states)
    if (state.spec.role == StateRole::Average)
      averages.push_back(read_state(executor, state.name, state));
  return averages;
}

std::vector<NamedTensor> read_gradients(const Executor& executor) {
  std::vector<NamedTensor> gradients;
  for (const StateBuffer& state : executor.program().states) {
    if (state.spec.role != StateRole::Parameter) continue;
    NamedTensor tensor{state.name, state.gradient_type, {}};
    tensor.bytes.resize(static_cast<size_t>(state.gradient_type.bytes()));
    executor.read_gradient(state, tensor.bytes);
    gradients.push_back(std::move(tensor));
  }
  return gradients;
}

}  // namespace

ParityRun run_parity(const ParityCase& parity_case, DType dtype, ParityMachine machine) {
  const std::unique_ptr<Executor> made = make_executor(parity_case, dtype, machine);
  Executor& executor = *made;
  const HostView& program = executor.program();
  initialise_states(executor, kSeed);
  ParityRun run;
  run.weights = read_weights(executor);
  for (int step = 0; step < kParitySteps; ++step) {
    for (int microbatch = 0; microbatch < parity_case.microbatches; ++microbatch)
      for (const HostBuffer& input : program.batch_inputs) {
        NamedTensor batch{fmt::format("batch.{}.{}.{}", step, microbatch, input.name), input.type,
                          make_batch_input(parity_case, input.name, input.type, step, microbatch)};
        executor.write_batch(input, microbatch, batch.bytes);
        run.batches.push_back(std::move(batch));
      }
    const StepResults results =
        run_train_step(executor, {.learning_rate = learning_rate(step), .step = step + 1});
    run.losses.push_back(results.loss);
    run.gradient_norms.push_back(results.grad_norm);
    if (step == 0) run.gradients = read_gradients(executor);
  }
  run.final_weights = read_weights(executor);
  run.averages = read_averages(executor);
  return run;
}

}  // namespace tessera
