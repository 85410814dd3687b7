// SPDX-License-Identifier: Apache-2.0
// Nodes on the flat buffers of a bundle that training and evaluation share: the gather of weights
// that rest in shards.
#pragma once

#include "ir/module.h"

namespace tessera {

// Whole for what routines use, one rank's part for what rests.
ValueId add_flat(Graph& graph, const Bundle& bundle, FlatRole role, DType dtype);
// `next` becomes the content of the buffer.
void return_flat(Graph& graph, ValueId buffer, ValueId next, bool accumulates = false);
// The wait for a collective that fills `buffer` and reads `source`; kNone: it reads the same.
ValueId await_flat(Graph& graph, const Bundle& bundle, ValueId buffer, ValueId source, Phase phase);

// All shards of a flat buffer, over the ranks along `axes`.
ValueId all_gathered(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                     Phase phase, bool async = false);
// Starts in the phase Gather, is waited for in Await.
void gather_bundle(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                   ValueId whole);

}  // namespace tessera
