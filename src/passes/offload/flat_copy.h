// SPDX-License-Identifier: Apache-2.0
// Copies between the flat buffers of a bundle, beside the device's work.
#pragma once

#include "ir/graph.h"

namespace tessera {

struct FlatCopy {
  ValueId from, to;
  Phase start, done;       // it starts in one phase and is waited for in another
  ValueId source = kNone;  // what is copied, where it is not `from` as it is
};

void add_flat_copy(Graph& graph, const FlatCopy& copy);

}  // namespace tessera
