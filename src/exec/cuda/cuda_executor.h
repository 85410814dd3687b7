// SPDX-License-Identifier: Apache-2.0
// Runs a program on one GPU: one rank, its planned arenas in one allocation, one compute stream.
// A step is enqueued without waiting; reading a step value waits for it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "exec/causal_batches.h"
#include "exec/cuda/causal_attention.h"
#include "exec/cuda/cuda_call.h"
#include "exec/cuda/device_graph.h"
#include "exec/cuda/matrix_products.h"
#include "exec/device_executor.h"
#include "exec/first_value_maker.h"

namespace tessera {

class CudaExecutor : public Executor, public RankStates, public FirstValueMaker {
 public:
  CudaExecutor(Program program, CudaExecutorOptions options);

  const Program& program() const override { return program_; }
  int64_t planned_bytes() const override { return memory_.bytes() + products_.workspace_bytes(); }
  void write_state(const StateBuffer& state, std::span<const std::byte> bytes) override;
  bool make_first_value(const StateBuffer& state, const StateBuffer& origin,
                        uint64_t seed) override;
  void read_state(const StateBuffer& state, std::span<std::byte> bytes) const override;
  void read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const override;
  void write_batch(const HostBuffer& input, int microbatch,
                   std::span<const std::byte> bytes) override;
  void write_step(std::string_view name, double value) override;
  double read_step(std::string_view name) const override;
  void read_output(std::span<std::byte> bytes) const override;
  std::vector<RankStates*> rank_states() override { return {this}; }
  int rank() const override { return 0; }
  void read_states(int64_t offset, std::span<std::byte> bytes) const override;
  void write_states(int64_t offset, std::span<const std::byte> bytes) override;
  void run(std::string_view script) override;
  // By the GPU's clock, from the first kernel's begin to the last one's end.
  std::vector<RankTimes> rank_times() const override { return {{.run_seconds = timer_.seconds()}}; }

 private:
  // Where the arenas begin in the one allocation; beside them lies what kernels need beyond the
  // plan.
  struct Layout {
    std::array<int64_t, 4> arenas;  // persistent, window, slots, scratch
    int64_t workspace = 0, workspace_bytes = 0, bytes = 0;
    Layout(const Program& program, CausalAttention& attention);
  };

  // Where batches (of all microbatches, one after the other) and step values lie in pinned memory,
  // in the program's order.
  struct InputLayout {
    std::vector<int64_t> batches, steps;
    int64_t bytes = 0;
    explicit InputLayout(const Program& program);
  };

  std::byte* arena(Lifetime lifetime) const;
  std::byte* address(const ScriptCall& call, const ProgramBlock& block, int buffer) const;
  void run(const Script& script);
  void run_or_launch(const Script& script);
  void run(const ScriptCall& call);
  void enqueue(const ScriptCall& call, const ProgramBlock& block, const Instruction& instruction,
               uint64_t accumulate);
  void to_device(std::byte* to, std::span<const std::byte> bytes);
  void from_device(std::span<std::byte> bytes, const std::byte* from) const;
  void read_pieces(const TensorType& type, const Placement& placement, const FlatPlace& place,
                   std::span<std::byte> bytes) const;

  Program program_;
  CudaExecutorOptions options_;
  CausalBatches batches_;
  CausalAttention attention_;
  Layout layout_;
  DeviceMemory memory_;
  DeviceStream stream_;
  MatrixProducts products_;
  PinnedMemory staging_;  // of states and outputs, outside of steps
  InputLayout input_layout_;
  PinnedMemory inputs_;
  DeviceEvent inputs_copied_;  // until then inputs_ must stay as it is
  // By script and whether the batch is plain causal. The first run is not recorded: cuBLASLt is
  // asked for algorithms and kernels are loaded.
  struct Recorded {
    int runs = 0;
    DeviceGraph graph;
  };
  std::map<std::pair<std::string, bool>, Recorded> recorded_;
  DeviceTimer timer_;                          // of the last script
  std::vector<TensorRef> operands_, results_;  // reused by every instruction
};

}  // namespace tessera
