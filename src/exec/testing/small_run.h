// SPDX-License-Identifier: Apache-2.0
// A small model in training on made batches. Row r of step s holds the same data however the rows
// are cut into microbatches; some labels are ignored, unevenly, and rows hold two documents, or
// one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/testing/small_models.h"

namespace tessera {

struct SmallRunOptions {
  Precision precision = DType::Fp64;
  int64_t batch = 2;  // rows of a microbatch
  int microbatches = 1;
  int threads = 1;
  double learning_rate = 0.01;
  OptimizerOptions optimizer = {};
  PipelineOptions pipeline = {};
  int one_document_every = 0;  // steps; 0: never
  bool poison = false;
  std::function<void(const InstructionEvent&)> observer = {};
};

class SmallRun {
 public:
  SmallRun(const SmallModel& model, const SmallRunOptions& options);

  void write_inputs(int step);  // of the step's batches and step values; steps count from 1
  double train_step(int step);  // the loss
  double evaluate(int step);    // the loss on that step's batches, with the weights as they are
  double objective() const;     // of the last of them: the loss and those of routers
  std::vector<double> losses(int steps);  // of steps 1, 2, ...

  CpuExecutor& executor() { return *executor_; }
  const Program& program() const { return executor_->program(); }

  // All states, or all gradients, by name.
  std::map<std::string, std::vector<std::byte>> states() const;
  std::map<std::string, std::vector<double>> gradients() const;
  void write_states(const std::map<std::string, std::vector<std::byte>>& states);

 private:
  std::vector<std::byte> made_input(const HostBuffer& input, int step, int microbatch) const;

  SmallModel model_;
  SmallRunOptions options_;
  std::unique_ptr<CpuExecutor> executor_;
};

// max|a-b| / max|b|
double relative_error(std::span<const double> a, std::span<const double> b);

}  // namespace tessera
