// SPDX-License-Identifier: Apache-2.0
// Runs one rank of a program on a GPU: its planned arenas in one allocation, one compute stream.
// A script is enqueued without waiting; reading a step value waits for it.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/causal_batches.h"
#include "exec/cuda/causal_attention.h"
#include "exec/cuda/cuda_call.h"
#include "exec/cuda/device_graph.h"
#include "exec/cuda/gpu_instruction_times.h"
#include "exec/cuda/host_copies.h"
#include "exec/cuda/host_kernels.h"
#include "exec/cuda/matrix_products.h"
#include "exec/cuda/non_finite_search.h"
#include "exec/executor.h"
#include "exec/instruction_runner.h"
#include "exec/rank_executor.h"

namespace tessera {

// Of a rank among several: they share a mesh, and the stream is the one that their communicators
// order collectives by.
struct CudaPeers {
  RankWorld* world = nullptr;
  const DeviceStream* stream = nullptr;
  // Where a peer on another GPU may be lost: as DeviceStream::wait, with a deadline.
  std::function<void(const DeviceStream&)> wait_for = {};
};

// CUDA's own variable for it: an error is told by the call that made it.
bool launches_block();

class FirstValues;

class CudaExecutor : public RankExecutor, public FirstValueMaker {
 public:
  CudaExecutor(Program program, ExecutorOptions options, CudaPeers peers = {});

  int64_t planned_bytes() const override {
    return states_.bytes() + memory_.bytes() + products_.workspace_bytes();
  }
  bool make_first_value(const StateBuffer& state, const StateBuffer& origin,
                        uint64_t seed) override;
  void write_batch(const HostBuffer& input, int microbatch,
                   std::span<const std::byte> bytes) override;
  void replace_program(Program program, ProgramChange change) override;
  void run(std::string_view script) override;
  NonFinite find_non_finite(std::string_view script) override;
  void stop_observing() override { options_.observer = {}; }
  // By the GPU's clock, from the first kernel's begin to the last one's end.
  std::vector<RankTimes> rank_times() const override { return {{.run_seconds = timer_.seconds()}}; }
  std::span<std::byte> arena(Lifetime lifetime) const override;
  std::span<std::byte> host_arena(Lifetime lifetime) const override;

  // A script in turns with others that the same thread serves. `advance` enqueues as far as to a
  // collective that a peer has yet to start; false: nothing was left that it could.
  void begin(const Script& script);
  bool advance();
  bool ended() const { return next_call_ == script_->calls.size(); }
  bool walks() const { return script_ && !ended(); }
  int64_t enqueued() const { return enqueued_; }  // instructions so far; from any thread
  std::string position() const;  // "forward of layer.1, microbatch 0, at all_gather"
  // Where there is an observer: the script of this name is about to be walked, or launched as what
  // was recorded when it was. Afterwards its times are reported; this waits for its end.
  void time_script(const std::string& name) { times_ = &timed_scripts_[name]; }
  void report_times(const ZeroTime& zero);
  // A script that is walked in between is looked at and changes no state.
  void begin_search(const Script& script);
  NonFinite end_search();  // waits for its end

  const DeviceStream& stream() const { return stream_; }
  // Of the batch that was written last; a recorded step is for one kind.
  bool plain_causal() const { return batches_.plain(); }
  // What the host gave for the next script is on the stream; nothing may be written over it there.
  void close_inputs();

  // What a rank of the program takes of a GPU's memory.
  static int64_t device_bytes(const Program& program, CausalAttention& attention);

 private:
  // States have an allocation of their own, which stays when the program changes. Where the other
  // arenas begin in theirs; beside them lies what kernels need beyond the plan.
  struct Layout {
    int64_t state_bytes;
    std::array<int64_t, 3> arenas, sizes;  // window, slots, scratch
    int64_t workspace = 0, workspace_bytes = 0, bytes = 0;
    Layout(const Program& program, CausalAttention& attention);
    int64_t all_bytes() const { return state_bytes + bytes; }
  };

  void make_on_host(const FirstValues& values, DType dtype, std::byte* to, int64_t element,
                    int64_t count);
  void poison_arenas();
  void copy_in(std::byte* to, std::span<const std::byte> bytes) override;
  void copy_out(std::span<std::byte> bytes, const std::byte* from) const override;
  void copy_input(std::byte* to, std::span<const std::byte> bytes) override;
  void poison(std::span<std::byte> bytes) override;

  bool observes() const { return options_.observer && !search_; }
  void enqueue(const ScriptCall& call, const ProgramBlock& block, const Instruction& instruction);
  void look_at(const ScriptCall& call, const Instruction& instruction);
  void enqueue_kernel(const ProgramBlock& block, const Instruction& instruction,
                      const BoundCall& bound);
  ByteMover stream_mover();
  MemorySpace space_at(const std::byte* address) const;
  void copy(void* to, const void* from, size_t bytes, const char* what) const;  // on the stream
  void await() const;                    // until the stream is done
  std::string async_error_hint() const;  // for an error that may belong to an earlier call
  std::string values_of(const ProgramBlock& block, const Instruction& instruction) const;

  ExecutorOptions options_;
  std::unique_ptr<DeviceStream> own_stream_;
  const DeviceStream& stream_;
  std::function<void(const DeviceStream&)> wait_for_;
  CausalBatches batches_;
  CausalAttention attention_;
  Layout layout_;
  DeviceMemory states_, memory_;
  MatrixProducts products_;
  RankGroups groups_;
  InstructionRunner runner_;
  HostCopies host_copies_;
  HostKernels host_kernels_;
  PinnedMemory host_states_, host_slots_, host_scratch_;  // the program's buffers there
  PinnedMemory staging_;                                  // of states and outputs, outside of steps
  PinnedMemory inputs_;  // of batches and step values, as they come
  int64_t inputs_used_ = 0;
  DeviceEvent inputs_copied_;  // until then inputs_ must stay as it is
  ScriptGraphs graphs_;
  DeviceTimer timer_;  // of the last script
  std::map<std::string, GpuInstructionTimes> timed_scripts_;
  GpuInstructionTimes* times_ = nullptr;     // where there is an observer
  std::unique_ptr<NonFiniteSearch> search_;  // while there is one

  const Script* script_ = nullptr;
  size_t next_call_ = 0, next_instruction_ = 0, accumulator_ = 0;
  std::atomic<int64_t> enqueued_ = 0;
  // The buffer of the collective that the next instruction waits for; it is enqueued.
  const std::byte* awaited_ = nullptr;
};

}  // namespace tessera
