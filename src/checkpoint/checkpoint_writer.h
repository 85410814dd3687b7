// SPDX-License-Identifier: Apache-2.0
// Saves checkpoints in the background: `save` stalls for a copy of the states, and a thread writes
// it. Every rank writes its own file; the first process of a job writes the manifest once all files
// are on disk. A failed save leaves the older checkpoints in place, and the run continues.
#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/generation.h"
#include "checkpoint/manifest.h"
#include "checkpoint/side_tensor.h"
#include "checkpoint/snapshot.h"
#include "comm/communicator.h"
#include "system/fault_plan.h"

namespace tessera {

struct CheckpointWriterOptions {
  std::filesystem::path folder;
  Retention retention = {};
  int threads = 1;                    // for the copy
  Communicator* peers = nullptr;      // the writers of a job's processes; null: there is one
  std::string run = {};               // the run's id
  int64_t generation = 0;             // of the run; the first process has it
  const Generation* fence = nullptr;  // must still be the newest when a checkpoint is committed
  FaultPlan* faults = nullptr;
  double patience_seconds = 5;  // within which the first process must see the files of others
};

struct SaveOutcome {
  int64_t step = 0;
  std::filesystem::path path = {};
  int64_t bytes = 0;
  double seconds = 0;  // of writing in the background
  bool saved = false;
  bool fenced = false;  // a newer start of the run has taken over: this one may not write
  // Folders of another history that were in the way of this run, by their new names.
  std::vector<std::filesystem::path> aside = {};
  std::string error = {};  // also of steps after a good save: verifying it, pruning
};

class CheckpointWriter {
 public:
  // All processes of a job create one, and call `save` and `finish`, at the same points.
  CheckpointWriter(std::vector<RankStates*> ranks, CheckpointWriterOptions options);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // The run continues from a step that it has loaded: later steps belong to another history and are
  // set aside at the first save.
  void continue_from(int64_t step);
  // Returns the seconds that training stalled: until the previous save was written, and for the
  // copy. The outcome of the previous save is kept for `take_outcome`.
  // `beside`: what the first process saves with the states of its first rank.
  double save(const CheckpointFacts& facts, SideTensors beside = {});
  // The outcome of a save, once; nothing while none has ended.
  std::optional<SaveOutcome> take_outcome();
  void finish();  // waits for the last one; throws PeerError, as both above, if a rank was lost

 private:
  SaveOutcome write(const CheckpointFacts& facts, const SideTensors& beside);
  std::vector<StoredFile> write_shards(const CheckpointFacts& facts, const SideTensors& beside);
  void write_manifest(const CheckpointFacts& facts, const std::vector<std::string>& files,
                      SaveOutcome& outcome);
  void set_others_aside(SaveOutcome& outcome);
  void verify_then_prune(const std::vector<StoredFile>& own, SaveOutcome& outcome);
  void prune(int64_t step, SaveOutcome& outcome);
  std::string first_error(std::string mine);  // of all processes, on all of them
  void inject_faults_on_others(FaultPhase phase, int64_t step) const;
  [[noreturn]] void throw_stale(SaveOutcome& outcome) const;
  std::filesystem::path partial(int64_t step) const {
    return partial_folder(options_.folder, step, options_.generation);
  }
  bool leads() const { return !options_.peers || options_.peers->rank() == 0; }
  FileWatch watch(int rank, int64_t step, std::optional<FaultPhase> always = {}) const;

  CheckpointWriterOptions options_;
  Snapshot snapshot_;
  OwnCheckpoints own_;                   // of the first process
  std::optional<int64_t> went_on_from_;  // until the first save since
  std::future<SaveOutcome> writing_;
  std::vector<SaveOutcome> ended_;
};

}  // namespace tessera
