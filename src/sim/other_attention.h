// SPDX-License-Identifier: Apache-2.0
// Attention as other programs compute it, to predict their runs: with scores in memory, as before
// FlashAttention, or by a kernel for which the cluster file has an efficiency of its own.
#pragma once

#include <string>

#include "ir/op_def.h"
#include "program/program.h"
#include "sim/cluster.h"

namespace tessera {

inline constexpr std::string_view kUnfused = "unfused";

struct OtherAttention {
  std::string kernel = {};  // empty: Tessera's own
  bool dropout = false;     // of scores, where they are in memory, and of the stream

  bool unfused() const { return kernel == kUnfused; }
};

// Refuses a kernel that the cluster has no efficiency for.
void check_attention(const Cluster& cluster, const OtherAttention& attention);

// Of attention or attention_grad with all scores in memory: no pair is skipped. Products read or
// write scores, and kernels between them read and write them again.
struct UnfusedCost {
  int64_t flops = 0, product_bytes = 0, other_bytes = 0;
};
UnfusedCost unfused_cost(const OpCall& call, const OtherAttention& attention);

// The most bytes that a rank keeps at once for its backward: of scores, and of masks of dropout
// where the stream is dropped as well.
int64_t kept_attention_bytes(const Program& program, const Script& script,
                             const OtherAttention& attention);

}  // namespace tessera
