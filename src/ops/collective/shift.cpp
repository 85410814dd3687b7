// SPDX-License-Identifier: Apache-2.0
// shift(x): round the ring of ranks along `axes`: each gives x to the next and has the previous
// one's.
#include "ops/collective/collective.h"

namespace tessera {

const OpDef& shift_def() {
  static const OpDef def{
      .name = "shift",
      .summary = "the previous rank's x, round a ring",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes(),
      .infer_types = moved_type,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

}  // namespace tessera
