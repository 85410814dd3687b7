// SPDX-License-Identifier: Apache-2.0
#include "comm/local/staging.h"

#include <bit>
#include <cstring>

#include "comm/collective_header.h"

namespace tessera {
namespace {

// From the first element of the first part to the end of the last part.
int64_t extent_bytes(const Parts& parts, int count, DType dtype) {
  if (parts.elements() == 0) return 0;
  const int64_t last = (parts.outer - 1) * parts.outer_stride +
                       (parts.middle - 1) * parts.middle_stride + (count - 1) * parts.part_stride;
  return (last + parts.inner) * size_bytes(dtype);
}

}  // namespace

int Staging::take(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].taken || blocks_[i].bytes < bytes) continue;
    blocks_[i].taken = true;
    return static_cast<int>(i);
  }
  // The hub takes nothing back: powers of two keep outgrown blocks below what is in use.
  const auto room = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
  blocks_.push_back({hub_.allocate(room), room, true});
  return static_cast<int>(blocks_.size()) - 1;
}

std::byte* Staging::data(int block) {
  const std::lock_guard lock(mutex_);
  return blocks_[static_cast<size_t>(block)].data;
}

Staged Staging::stage(Collective& collective, int members) {
  Staged staged;
  if (!hub_.options().processes) return staged;
  if (collective.input && !hub_.owns(collective.input)) {
    const int count = reads_many_parts(collective.kind) ? members : 1;
    const int64_t bytes = extent_bytes(collective.input_parts, count, collective.dtype);
    staged.input = take(bytes);
    std::byte* block = data(staged.input);
    std::memcpy(block, collective.input, static_cast<size_t>(bytes));
    collective.input = block;
  }
  if (collective.output && !hub_.owns(collective.output)) {
    const int count = writes_many_parts(collective.kind) ? members : 1;
    staged.output_bytes = extent_bytes(collective.output_parts, count, collective.dtype);
    staged.output = take(staged.output_bytes);
    staged.private_output = collective.output;
    std::byte* block = data(staged.output);
    // What lies between strided parts must come back as it is.
    std::memcpy(block, collective.output, static_cast<size_t>(staged.output_bytes));
    collective.output = block;
  }
  return staged;
}

void Staging::give_back(const Staged& staged) {
  if (staged.output >= 0)
    std::memcpy(staged.private_output, data(staged.output),
                static_cast<size_t>(staged.output_bytes));
  const std::lock_guard lock(mutex_);
  if (staged.input >= 0) blocks_[static_cast<size_t>(staged.input)].taken = false;
  if (staged.output >= 0) blocks_[static_cast<size_t>(staged.output)].taken = false;
}

}  // namespace tessera
