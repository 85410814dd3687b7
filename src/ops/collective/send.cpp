// SPDX-License-Identifier: Apache-2.0
// send(x): begins to give x to the stage at the other end of a channel; a wait tells when x may
// change. The script call names the channel.
#include "ops/collective/collective.h"

namespace tessera {

const OpDef& send_def() {
  static const OpDef def{
      .name = "send",
      .summary = "x, on its way to another stage",
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
