// SPDX-License-Identifier: Apache-2.0
// How fast collectives are, in the terms of nccl-tests: `bytes` is the largest buffer of a rank,
// algorithm bandwidth is bytes per second, bus bandwidth corrects it by what has to move, so that
// it can be compared across numbers of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "comm/communicator.h"

namespace tessera {

struct CollectiveTiming {
  CollectiveKind kind;
  Reduction reduction;
  DType dtype;
  int64_t count = 0;  // elements of the largest buffer of a rank
  int64_t bytes = 0;
  int iterations = 0;
  double seconds = 0;  // of one collective
  double algorithm_bytes_per_second = 0, bus_bytes_per_second = 0;
};

// Bus bandwidth over algorithm bandwidth: 2 (n - 1) / n for all_reduce.
double bus_factor(CollectiveKind kind, int ranks);
std::string_view bus_formula(CollectiveKind kind);

struct CollectiveBenchOptions {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  DType dtype = DType::Fp32;
  int64_t bytes = 0;               // rounded down to whole elements per member
  double measured_seconds = 0.25;  // about as long as it is repeated
};

// Of a group that works beside its host, such as GPUs: the same ranks' own group there, and the
// wait until what was started is done.
struct HostOfGroup {
  Communicator& group;
  std::function<void()> await;
};

// Called on every member; all get the same timing: warmed up, between two barriers, averaged.
// Buffers hold `bytes` each; `output` is not used where the collective can be in place. A send is
// one hop of a ring: every rank sends and receives.
CollectiveTiming bench_collective(Communicator& group, const CollectiveBenchOptions& options,
                                  std::byte* input, std::byte* output,
                                  const HostOfGroup* host = nullptr);
bool needs_output(CollectiveKind kind);

// Bytes read plus bytes written per second when `threads` threads copy large buffers at once: what
// no collective over shared memory can exceed for long.
double copy_bytes_per_second(int threads);

}  // namespace tessera
