// SPDX-License-Identifier: Apache-2.0
// Moving and combining the parts of buffers that several ranks have on one GPU. Bits are those of
// comm/reduce_parts: in the order of the sources, bf16 in fp32 and rounded once.
#pragma once

#include <span>

#include "comm/communicator.h"
#include "exec/cuda/device_memory.h"

namespace tessera {

// Part `part` of a buffer that is cut as `parts` says.
struct DevicePart {
  std::byte* data = nullptr;
  Parts parts{};
  int64_t part = 0;
};

struct PartCopy {
  DevicePart from, to;
};

inline constexpr int kMostSharers =
    64;  // of a collective on one GPU: the limit of a kernel's arguments

// Copies of parts of the same number of elements. Where one goes onto itself, nothing changes.
void enqueue_copies(DType dtype, std::span<const PartCopy> copies, const DeviceStream& stream);

// The combination of all sources, into every target; a target may lie on a source.
void enqueue_reduction(DType dtype, Reduction reduction, std::span<const DevicePart> sources,
                       std::span<const DevicePart> targets, const DeviceStream& stream);

}  // namespace tessera
