// SPDX-License-Identifier: Apache-2.0
// How long a kernel takes on a device: the roofline of the op's own cost rule, over the efficiency
// that the cluster file gives for its size, plus the launch.
#pragma once

#include "ir/op_def.h"
#include "sim/cluster.h"
#include "sim/other_attention.h"
#include "sim/other_layer.h"
#include "sim/other_loss.h"

namespace tessera {

// Threads of a rank, and ranks of the machine: they matter if ranks share cores.
struct RankLoad {
  int threads = 1;
  int ranks = 1;
  bool cool = false;  // the device has not warmed up: products are faster by its cool_gain
  OtherAttention attention = {};
  double extra_passes = 0;
  OtherLoss loss = {};
  OtherLayer layer = find_other_layer("tessera");
  bool joins = true;  // what follows a product is part of its kernel
};

// The keys of efficiency tables: m, n, k of a matmul, and of one expert's product, whose m (k in a
// weight gradient) are its rows; flops, bytes and the innermost size of operand 0 of another op (a
// head's size, a row's length).
std::array<double, 3> kernel_size(const OpCall& call);

class KernelCost {
 public:
  KernelCost(const Cluster& cluster, RankLoad load);

  double seconds(const OpCall& call) const;
  // The same at the device's peaks.
  double roofline_seconds(const OpCall& call) const;
  // Of bytes that are read or written, and no arithmetic. Clusters know no link to the host.
  double copy_seconds(int64_t bytes) const;
  // Of bytes that a kernel reads or writes beside others.
  double memory_seconds(double bytes) const;
  // Flops per second of one rank at most.
  double rank_peak(Arithmetic arithmetic) const;
  // Of all ranks together.
  double total_peak(Arithmetic arithmetic) const;

 private:
  double work_seconds(const OpCall& call) const;
  double unfused_seconds(const UnfusedCost& cost, Arithmetic arithmetic) const;
  double curve_seconds(const EfficiencyCurve& curve, const OpCall& call) const;
  double passes_seconds(const OpCall& call) const;
  double unjoined_seconds(const OpCall& call) const;
  double with_logits(double work, const OpCall& call) const;
  double memory_share() const;
  double efficiency(const OpCall& call) const;
  bool is_bound_by_flops(const OpCall& call) const;
  std::string_view kernel_of(std::optional<OpKind> op) const;
  const EfficiencyTable& table_of(std::optional<OpKind> op) const;

  const Cluster& cluster_;
  RankLoad load_;
  int busy_ranks_ = 1;     // at once
  double time_share_ = 1;  // ranks per core, if ranks take turns
};

// The mean of the nearest points in the logarithm of sizes, weighted by the inverse square of the
// distance.
double interpolate(const std::vector<EfficiencyPoint>& points, const std::array<double, 3>& size);

}  // namespace tessera
