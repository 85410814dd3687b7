// SPDX-License-Identifier: Apache-2.0
// No staging: parts are read where they lie and written where they belong.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void all_to_all_cpu(const CpuCall& call) {
  if (is_alone(call)) return copy_to_result(call);
  Communicator& group = group_of(call);
  const TensorType &x = *call.operand(0).type, &y = *call.result(0).type;
  const auto split = static_cast<size_t>(x.index_of(call.attributes.word("split")));
  const auto join = static_cast<size_t>(x.index_of(call.attributes.word("join")));
  Collective collective = collective_of(call, CollectiveKind::AllToAll);
  // Cut at the outer of the two dims; between them lies `middle`, which is cut on one side alone.
  const size_t outer_dim = std::min(split, join), inner_dim = std::max(split, join);
  const auto parts = [&](const TensorType& type, size_t cut) {
    Parts p = parts_along(type, cut, group.size());
    if (cut == outer_dim) {
      // A part is `middle` rows of `inner` elements, in one piece.
      int64_t inner = 1;
      for (size_t i = inner_dim; i < type.dims.size(); ++i) inner *= type.dims[i].size;
      p.middle = p.inner / inner;
      p.middle_stride = inner;
      p.inner = inner;
    } else {
      int64_t middle = 1;
      for (size_t i = outer_dim; i < inner_dim; ++i) middle *= type.dims[i].size;
      p.middle = middle;
      p.middle_stride = p.outer_stride;
      p.outer /= middle;
      p.outer_stride *= middle;
    }
    return p;
  };
  collective.input_parts = parts(x, split);
  collective.output_parts = parts(y, join);
  communicate(call, group, {collective});
}

}  // namespace tessera
