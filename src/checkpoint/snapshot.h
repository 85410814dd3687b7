// SPDX-License-Identifier: Apache-2.0
// A copy of the states that the ranks of this process own, at one moment, so that training
// continues while the copy is written. Its memory is allocated once.
#pragma once

#include <span>
#include <vector>

#include "checkpoint/owned_pieces.h"
#include "config/compile_step.h"
#include "exec/cpu/arena.h"
#include "exec/executor.h"

namespace tessera {

// One rank's part; `offsets` of its pieces in the snapshot.
struct RankShare {
  int rank = 0;
  std::vector<OwnedPiece> pieces = {};
  std::vector<int64_t> offsets = {};
};

class Snapshot {
 public:
  explicit Snapshot(std::vector<RankStates*> ranks);

  int64_t bytes() const { return arena_.bytes(); }
  void take(int threads);
  const std::vector<RankShare>& shares() const { return shares_; }
  std::span<const std::byte> bytes_of(const RankShare& share, size_t piece) const;

 private:
  struct Copy {
    const RankStates* from;
    MemorySpace space;
    int64_t offset, to, bytes;
  };
  void plan_copies(const RankStates& from, const RankShare& share);

  std::vector<RankShare> shares_;
  std::vector<Copy> copies_;
  Arena arena_;
};

// Of all ranks together, wherever they run.
int64_t snapshot_bytes(const HostView& program);

// What a rank's part of the snapshot takes at most; 0: there is none in its memory.
int64_t snapshot_bytes_of_rank(const RunSpec& spec, std::span<const Program> programs);

// Compiles the step of a run so that a rank's memory also has room for the snapshot of its states,
// where checkpoints take one there.
Compiled compile_beside_snapshot(RunSpec spec, const CompileStepOptions& options = {});

}  // namespace tessera
