// SPDX-License-Identifier: Apache-2.0
// Which elements of a whole tensor a rank holds, and where: what initial values, checkpoints and
// `verify` need to see tensors whole whatever the mesh.
#pragma once

#include <functional>

#include "program/program.h"

namespace tessera {

// Calls piece(offset, element, count) for every stretch that the rank holds: `offset` in bytes of
// the arena of place.lifetime, `element` in the whole tensor.
void for_each_piece(
    const HostView& program, int rank, const TensorType& whole, const Placement& placement,
    const FlatPlace& place,
    const std::function<void(int64_t offset, int64_t element, int64_t count)>& piece);

// The same for a batch input of one microbatch; offsets count from the input's own. `element` is in
// the batch as the loader gives it: a ring's permutation of the sequence is undone here.
void for_each_piece(
    const HostView& program, int rank, const HostBuffer& input,
    const std::function<void(int64_t offset, int64_t element, int64_t count)>& piece);

}  // namespace tessera
