// SPDX-License-Identifier: Apache-2.0
#include "passes/offload/flat_copy.h"

#include "ir/emit.h"
#include "ir/op_list.h"
#include "passes/gradient/bundle_flats.h"

namespace tessera {

void add_flat_copy(Graph& graph, const FlatCopy& copy) {
  const std::string to = graph.value(copy.to).name;
  const MemorySpace space = graph.value(copy.to).space;
  const auto add = [&](OpKind op, std::vector<ValueId> operands, Attributes attributes, Phase phase,
                       const char* ending) {
    const ValueId result =
        emit(graph, op, std::move(operands),
             {.attributes = std::move(attributes), .phase = phase, .name = to + ending})
            .front();
    return_flat(graph, copy.to, result);
    graph.value(result).space = space;
  };
  add(OpKind::copy, {copy.source == kNone ? copy.from : copy.source},
      {{"to", std::string(name(space))}, {"async", int64_t{1}}}, copy.start, ".copied");
  add(OpKind::wait, {copy.to, copy.from}, {}, copy.done, ".there");
}

}  // namespace tessera
