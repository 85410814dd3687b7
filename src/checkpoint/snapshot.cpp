// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/snapshot.h"

#include <algorithm>

#include "checkpoint/owned_pieces.h"
#include "core/error.h"
#include "system/threads.h"

namespace tessera {
namespace {

constexpr int64_t kMostCopied = 4 << 20;  // of one copy, so that threads end together
constexpr int64_t kAlignment = 64;

}  // namespace

Snapshot::Snapshot(std::vector<RankStates*> ranks) {
  int64_t bytes = 0;
  for (const RankStates* rank : ranks) {
    RankShare share{.rank = rank->rank(), .pieces = owned_pieces(rank->program(), rank->rank())};
    for (const OwnedPiece& piece : share.pieces) {
      share.offsets.push_back(bytes);
      bytes += (piece.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
    plan_copies(*rank, share);
    shares_.push_back(std::move(share));
  }
  arena_ = Arena(bytes);
  // Otherwise the first copy would pay for the page faults.
  if (bytes > 0) std::fill_n(arena_.data(), bytes, std::byte{0});
}

void Snapshot::plan_copies(const RankStates& from, const RankShare& share) {
  for (size_t i = 0; i < share.pieces.size(); ++i) {
    int64_t to = share.offsets[i];
    for (const ArenaStretch& stretch : share.pieces[i].stretches)
      for (int64_t done = 0; done < stretch.bytes; done += kMostCopied) {
        const int64_t bytes = std::min(kMostCopied, stretch.bytes - done);
        copies_.push_back(
            {&from, share.pieces[i].state->place.space, stretch.offset + done, to, bytes});
        to += bytes;
      }
  }
}

void Snapshot::take(int threads) {
  run_parts(copies_.size(), threads, [&](size_t part, size_t) {
    const Copy& copy = copies_[part];
    copy.from->read_states(copy.space, copy.offset,
                           {arena_.data() + copy.to, static_cast<size_t>(copy.bytes)});
  });
}

std::span<const std::byte> Snapshot::bytes_of(const RankShare& share, size_t piece) const {
  return {arena_.data() + share.offsets[piece], static_cast<size_t>(share.pieces[piece].bytes())};
}

int64_t snapshot_bytes(const HostView& program) {
  int64_t bytes = 0;
  for (const StateBuffer& state : program.states)
    if (!state.spec.in_base) bytes += state.type.bytes();
  return bytes;
}

int64_t snapshot_bytes_of_rank(const RunSpec& spec, std::span<const Program> programs) {
  return spec.snapshots ? most_owned_bytes(programs) : 0;
}

Compiled compile_beside_snapshot(RunSpec spec, const CompileStepOptions& options) {
  if (spec.memory_bytes > 0 && spec.snapshots) {
    RunSpec plain = spec;
    plain.plan.recompute = {};  // states do not depend on what is recomputed
    const int64_t snapshot =
        snapshot_bytes_of_rank(spec, compile(plain, {.check = false}).programs);
    if (snapshot >= spec.memory_bytes)
      throw user_error("the snapshot of a rank's states for checkpoints takes {} bytes of its {}",
                       snapshot, spec.memory_bytes)
          .at("plan.memory")
          .help("use more ranks, or save nothing (checkpoint.every = 0)");
    spec.memory_bytes -= snapshot;
  }
  return compile(spec, options);
}

}  // namespace tessera
