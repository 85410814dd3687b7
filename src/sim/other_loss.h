// SPDX-License-Identifier: Apache-2.0
// The loss as other programs compute it: with logits in memory, which kernels read and write one
// after the other, where Tessera computes it in chunks that stay in caches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/op_def.h"
#include "program/program.h"

namespace tessera {

// Bytes of each logit: that pass through memory in a step, and that are held at once.
struct OtherLoss {
  std::string_view name;
  double passing = 0;
  double held = 0;
};

// "tessera" passes and holds none.
const OtherLoss& find_other_loss(std::string_view name);
std::vector<std::string> other_loss_names();

// Logits of a call, of which it moves a share of the bytes; 0 for other ops.
double moved_logits(const OpCall& call);

// The most bytes of logits that a rank holds.
int64_t held_logit_bytes(const Program& program, const OtherLoss& loss);

}  // namespace tessera
