// SPDX-License-Identifier: Apache-2.0
// recv(x): begins to fill x with what the stage at the other end of a channel sends; a wait tells
// when it is there. The script call names the channel.
#include "ops/collective/collective.h"

namespace tessera {

const OpDef& recv_def() {
  static const OpDef def{
      .name = "recv",
      .summary = "x, on its way from another stage",
      .operands = {{"x"}},
      .results = {"x"},
      .attributes = {{"axes", "none"}, {"ranks", int64_t{1}}, {"async", int64_t{1}}},
      .infer_types = moved_type,
      .cost = moving_cost,
      .in_place = {{.result = 0, .operand = 0}},
      .aliases = true,
      .communicates = true,
  };
  return def;
}

}  // namespace tessera
