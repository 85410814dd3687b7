// SPDX-License-Identifier: Apache-2.0
// This process's rank of a program whose other ranks are processes of the same job. All of them
// call the same functions in the same order: what is read is put together from all ranks.
#pragma once

#include "comm/communicator.h"
#include "exec/rank_executor.h"

namespace tessera {

class JobExecutor : public Executor {
 public:
  // `programs`, by place along the pipeline; one where there is none. `own` runs this rank's.
  JobExecutor(std::span<const Program> programs, std::unique_ptr<RankExecutor> own,
              RankWorld& world);

  const HostView& program() const override { return view_; }
  int64_t planned_bytes() const override { return planned_bytes_; }
  void write_state(const StateBuffer& state, std::span<const std::byte> bytes) override {
    own_->write_state(state, bytes);
  }
  void read_state(const StateBuffer& state, std::span<std::byte> bytes) const override;
  void read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const override;
  void write_batch(const HostBuffer& input, int microbatch,
                   std::span<const std::byte> bytes) override {
    own_->write_batch(input, microbatch, bytes);
  }
  void write_step(std::string_view name, double value) override { own_->write_step(name, value); }
  double read_step(std::string_view name) const override;
  std::vector<int32_t> read_loads() const override;
  void read_output(std::span<std::byte> bytes) const override { own_->read_output(bytes); }
  std::vector<RankStates*> rank_states() override { return {own_.get()}; }
  void replace_programs(std::vector<Program> programs, ProgramChange change) override;
  void run(std::string_view script) override { own_->run(script); }
  NonFinite find_non_finite(std::string_view script) override;
  void stop_observing() override { own_->stop_observing(); }
  std::vector<RankTimes> rank_times() const override;

 private:
  // Each element comes from one rank: the first of those that hold it.
  bool gives(const StateBuffer& state, bool gradient) const;
  void add_up_planned_bytes();
  void put_together(std::span<std::byte> bytes) const;

  HostView view_;
  int64_t planned_bytes_ = 0;
  std::unique_ptr<RankExecutor> own_;
  std::unique_ptr<Communicator> everyone_;
  mutable std::vector<int32_t> words_;
};

}  // namespace tessera
