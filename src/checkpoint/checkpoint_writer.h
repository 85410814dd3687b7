// SPDX-License-Identifier: Apache-2.0
// Saves checkpoints behind the training: `save` stalls for a copy of the states, a thread writes
// it. Every rank writes its own file; the first process of a job writes the manifest once all files
// are on disk. A save that fails leaves the older checkpoints and lets the run go on.
#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/generation.h"
#include "checkpoint/manifest.h"
#include "checkpoint/own_checkpoints.h"
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
  const Generation* fence = nullptr;  // what it must still be when something is made to last
  FaultPlan* faults = nullptr;
  double patience_seconds = 5;  // until the first process must see what others have written
};

struct SaveOutcome {
  int64_t step = 0;
  std::filesystem::path path = {};
  int64_t bytes = 0;
  double seconds = 0;  // that writing took, behind the training
  bool saved = false;
  bool fenced = false;  // a newer start of the run has taken over: this one may not write
  // Folders of another history that stood where this run writes, by the names that they have now.
  std::vector<std::filesystem::path> aside = {};
  std::string error = {};  // also of what failed behind a good save: verifying it, pruning
};

class CheckpointWriter {
 public:
  // All processes of a job make theirs, and call `save` and `finish`, at the same points.
  CheckpointWriter(std::vector<RankStates*> ranks, CheckpointWriterOptions options);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // The run goes on from a step that it has loaded: what lies above it is another history, and is
  // set aside when this one is first saved.
  void go_on_from(int64_t step);
  // Seconds that training stood still: until the save before was written, and for the copy. What
  // became of the one before is kept for `take_outcome`.
  double save(const CheckpointFacts& facts);
  // What became of a save, once; nothing while none has ended.
  std::optional<SaveOutcome> take_outcome();
  void finish();  // waits for the last one; throws PeerError, as both above, where a rank was lost

 private:
  SaveOutcome write(const CheckpointFacts& facts);
  std::vector<StoredFile> write_shards(const CheckpointFacts& facts);
  void write_manifest(const CheckpointFacts& facts, const std::vector<std::string>& files,
                      SaveOutcome& outcome);
  void set_others_aside(SaveOutcome& outcome);
  void verify_then_prune(const std::vector<StoredFile>& own, SaveOutcome& outcome);
  void prune(int64_t step, SaveOutcome& outcome);
  std::string first_error(std::string mine);  // of all processes, on all of them
  void others_come_by(FaultPhase phase, int64_t step) const;
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
