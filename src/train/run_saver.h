// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one run: which one it continues from, and those that it saves.
#pragma once

#include <limits>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_writer.h"
#include "config/config.h"
#include "exec/executor.h"

namespace tessera {

struct RunStart {
  bool resume = false;
  std::string run_id = {};  // that a new run shall have; empty: one is drawn
  // Holds the weights that checkpoints leave out; null: they hold all.
  const StateSource* base = nullptr;
};

class RunSaver {
 public:
  // All processes of a job make theirs together; a null world: there is one. A run that does not
  // resume becomes the one whose folder it is.
  RunSaver(const Config& config, Executor& executor, RankWorld* world, FaultPlan* faults,
           const RunStart& start);

  // Of this run, and not later than that; in a folder that belongs to no run yet, of all that are
  // there.
  NewestValid newest(int64_t last_step = std::numeric_limits<int64_t>::max()) const;
  // Whether the checkpoint belonged to no run, and the folder has become this run's.
  bool continue_from(int64_t step);
  const std::string& run_id() const { return identity_.id; }
  // A UserError where the checkpoint was saved beside other weights than those of this run's base.
  void require_base_of(const Checkpoint& checkpoint) const;
  // Does `act` while no newer start of the run can take over; a UserError where one has.
  void while_newest(const std::function<void()>& act) const;
  void require_newest() const;  // the same error; costs a read
  // Of all ranks; 0 where the run saves nothing.
  int64_t snapshot_bytes() const;
  // Whether this step was saved, or was where the run started: there is nothing new to save.
  bool saved(int64_t step) const { return step == saved_step_; }
  // Seconds that training stalls.
  double save(const CheckpointPosition& position, SideTensors beside = {});
  std::optional<SaveOutcome> take_outcome();
  void finish();

 private:
  bool leads() const { return !peers_ || peers_->rank() == 0; }
  void identify(const RunStart& start);
  void take_identity(const RunIdentity& identity);
  void make_writer(const Config& config, FaultPlan* faults);
  [[noreturn]] void throw_taken_over() const;

  std::filesystem::path out_, folder_;
  Executor& executor_;
  CheckpointFacts facts_;
  const StateSource* base_ = nullptr;
  int64_t saved_step_ = 0;
  std::unique_ptr<Communicator> peers_;
  RunIdentity identity_;                      // without an id where the folder has none yet
  std::string new_id_;                        // that it would then get
  std::unique_ptr<Generation> generation_;    // of the first process
  std::unique_ptr<CheckpointWriter> writer_;  // null where the run saves nothing
};

}  // namespace tessera
