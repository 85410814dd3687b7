// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_run.h"

#include <cmath>

#include "compiler/compile.h"
#include "exec/cpu/cpu_executor.h"
#include "models/build_model.h"

namespace tessera {
namespace {

constexpr uint64_t kSeed = 7;

CpuExecutor make_executor(const ParityCase& parity_case, DType dtype, int threads) {
  Module module = build_model(parity_case.model, parity_case.shape, dtype, HeadKind::Loss);
  CompileOptions options;
  options.optimizer = parity_case.optimizer;
  options.profile.threads = threads;
  options.microbatches = parity_case.microbatches;
  return {compile(std::move(module), options).program(), {.threads = threads, .poison = true}};
}

std::vector<NamedTensor> read_states(const CpuExecutor& executor, StateRole role) {
  std::vector<NamedTensor> states;
  for (const StateBuffer& state : executor.program().states) {
    if (state.spec.role != role) continue;
    NamedTensor tensor{state.name, state.type, {}};
    tensor.bytes.resize(static_cast<size_t>(state.type.bytes()));
    executor.read_state(state, tensor.bytes);
    states.push_back(std::move(tensor));
  }
  return states;
}

std::vector<NamedTensor> read_gradients(const CpuExecutor& executor) {
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

ParityRun run_parity(const ParityCase& parity_case, DType dtype, int threads) {
  CpuExecutor executor = make_executor(parity_case, dtype, threads);
  const HostView& program = executor.program();
  initialise_states(executor, kSeed);
  ParityRun run;
  run.weights = read_states(executor, StateRole::Parameter);
  for (int step = 0; step < kParitySteps; ++step) {
    for (int microbatch = 0; microbatch < parity_case.microbatches; ++microbatch)
      for (const HostBuffer& input : program.batch_inputs) {
        NamedTensor batch{fmt::format("batch.{}.{}.{}", step, microbatch, input.name), input.type,
                          make_batch_input(parity_case, input.name, input.type, step, microbatch)};
        executor.write_batch(input, microbatch, batch.bytes);
        run.batches.push_back(std::move(batch));
      }
    executor.write_step("learning_rate", learning_rate(step));
    executor.write_step("step", step + 1);
    executor.run("train_step");
    run.losses.push_back(executor.read_step("loss"));
    run.gradient_norms.push_back(std::sqrt(executor.read_step("norm_squares")));
    if (step == 0) run.gradients = read_gradients(executor);
  }
  run.final_weights = read_states(executor, StateRole::Parameter);
  run.averages = read_states(executor, StateRole::Average);
  return run;
}

}  // namespace tessera
