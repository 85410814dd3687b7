// SPDX-License-Identifier: Apache-2.0
// The keys of [plan], as a user writes them: how the step is spread over the ranks of a mesh. A
// plan carries them along, so that a pass can read one as it was given.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

enum class ContextKind : uint8_t { Ring, Ulysses };
// How tokens come to experts on other ranks: all of them to every rank, or each to those that it
// chose; auto: whichever sends fewer bytes.
enum class DispatchKind : uint8_t { Gather, Exchange, Auto };
// Whether matmuls and the gathers and scattered sums beside them are cut into pieces that travel
// round a ring meanwhile; auto: whichever a simulation says is faster, and off where there is none.
enum class TpOverlap : uint8_t { Off, Ring, Auto };

struct PlanConfig {
  std::string zero = "auto";
  std::string shard_axes = "auto";
  std::string experts = "ep";
  DispatchKind dispatch = DispatchKind::Gather;
  std::string expert_room = "worst";
  bool sequence_parallel = false;
  TpOverlap tp_overlap = TpOverlap::Off;
  ContextKind context = ContextKind::Ring;
  std::string reduce_dtype = "auto";
  std::string schedule = "1f1b";
  std::string actions;  // file of a custom schedule
  int64_t chunks = 0;
  std::string stages;
  std::string recompute = "none";
  int64_t recompute_every = 1;
  std::string fp8_weights = "step";
  std::string offload = "none";
  std::string offload_update = "device";
  std::string memory;  // of a rank; empty: not said
};

}  // namespace tessera
