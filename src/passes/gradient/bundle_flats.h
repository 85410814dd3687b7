// SPDX-License-Identifier: Apache-2.0
// The flat buffers of a bundle and nodes on them, as the passes of states at rest share them.
#pragma once

#include "ir/module.h"

namespace tessera {

// The full length for buffers that routines use, one rank's part for stored shards.
ValueId add_flat(Graph& graph, FlatSpec flat, const Bundle& bundle, DType dtype);
// The flat buffer of that role; kNone when absent.
ValueId find_value(const BlockClass& block_class, const Bundle& bundle, FlatRole role);
// Where the summed gradient is that this rank updates from.
ValueId gradient_at_rest(const BlockClass& block_class, const Bundle& bundle);
// A node with one result, named after the bundle.
ValueId emit_for_bundle(Graph& graph, const Bundle& bundle, OpKind op,
                        std::vector<ValueId> operands, Attributes attributes, Phase phase,
                        std::string_view what);
// `next` becomes the content of the buffer.
void return_flat(Graph& graph, ValueId buffer, ValueId next, bool accumulates = false);
// The wait for a collective that fills `buffer` and reads `source`; kNone: it reads the same.
ValueId await_flat(Graph& graph, const Bundle& bundle, ValueId buffer, ValueId source, Phase phase);

// All shards of a flat buffer, over the ranks along `axes`.
ValueId all_gathered(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                     Phase phase, bool async = false);
// Over ranks, or of one shard a copy; starts in the phase Gather, is waited for in GatherWait.
void gather_bundle(Graph& graph, const Bundle& bundle, const std::string& axes, ValueId shard,
                   ValueId whole);
// The bundle's weights rest in shards, which are gathered; nothing is updated.
void gather_at_rest(BlockClass& block_class, const Bundle& bundle, DType dtype,
                    const std::string& axes);

}  // namespace tessera
