// SPDX-License-Identifier: Apache-2.0
// Where a value's bytes lie, as plan_memory decides it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// Kernels and collectives work in a device's own memory; copies go between it and the host's.
enum class MemorySpace : uint8_t { Device, Host };
std::string_view name(MemorySpace space);

// Persistent: outlives the step. Window: between two positions of the step's script (gradients,
// inputs, step values). Slot: one per microbatch in flight (activations kept for the backward).
// Scratch: within one routine call. Prepared: from the step's beginning to its end, one per block;
// in a Program, part of the window. Away: kept for the backward as in a slot, but in the host's
// memory in between; in a Program, part of the slots.
enum class Lifetime : uint8_t { None, Persistent, Window, Slot, Scratch, Prepared, Away };
std::string_view name(Lifetime lifetime);
std::optional<Lifetime> lifetime_from_name(std::string_view text);

// Scratch offsets are absolute; Slot, Prepared and Away offsets count from the block's own.
// Persistent and Window buffers are bound by name, per block.
struct Location {
  Lifetime lifetime = Lifetime::None;
  int64_t offset = 0;
  int64_t bytes = 0;
  bool operator==(const Location&) const = default;
};

inline constexpr int64_t kBufferAlignment = 64;
inline int64_t align_up(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace tessera
