// SPDX-License-Identifier: Apache-2.0
// All ranks of a mesh in this process, through the interface of one: the host writes and reads
// whole tensors. How the ranks run is the machine's.
#pragma once

#include "exec/rank_executor.h"

namespace tessera {

class LocalMesh : public Executor {
 public:
  const HostView& program() const override { return view_; }
  int64_t planned_bytes() const override;
  void write_state(const StateBuffer& state, std::span<const std::byte> bytes) override;
  void read_state(const StateBuffer& state, std::span<std::byte> bytes) const override;
  void read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const override;
  void write_batch(const HostBuffer& input, int microbatch,
                   std::span<const std::byte> bytes) override;
  void write_step(std::string_view name, double value) override;
  double read_step(std::string_view name) const override;
  std::vector<int32_t> read_loads() const override;
  void read_output(std::span<std::byte> bytes) const override;
  std::vector<RankStates*> rank_states() override;

  int num_ranks() const { return view_.mesh.num_ranks(); }
  virtual RankExecutor& rank(int rank) const = 0;

 protected:
  explicit LocalMesh(HostView view) : view_(std::move(view)) {}
  void change_view(std::span<const Program> programs, ProgramChange change) {
    if (change == ProgramChange::Inputs) view_ = view_of(programs);
  }

 private:
  HostView view_;
};

}  // namespace tessera
