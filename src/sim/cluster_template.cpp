// SPDX-License-Identifier: Apache-2.0
// The output of `tessera docs cluster`. It is a valid cluster file (a test reads it), with figures
// of nodes of eight H100.
#include "sim/cluster.h"

namespace tessera {
namespace {

constexpr std::string_view kTemplate =
    R"toml(# A cluster for `tessera simulate --cluster FILE` and `tessera plan --cluster FILE`.
# Every figure is { value = ..., source = "..." }: a publication, "measured" or "assumed". Units are bytes, seconds and
# flops per second, without prefixes: 450 GB/s is 450e9.
name = "my-cluster"
calibrated = false   # true in files that `tessera bench calibrate` writes
# unknown = ["no link was measured"]   # optional: sentences that simulate and plan print
# based_on = "dgx-h100"   # optional: a named cluster that says all that this file does not

[rules]
algorithm = "fastest"   # of collectives: fastest, ring, tree or hierarchical
moves_in_wait = false   # true where ranks are threads that move bytes themselves while they wait

[device]
name = "H100 SXM5 80 GB"
# cores = 2             # only for ranks that are threads of one machine and share its cores
memory_bytes = { value = 80e9, source = "datasheet" }
memory_bandwidth = { value = 3.35e12, source = "datasheet" }
reserve_bytes = { value = 3e9, source = "assumed" }       # optional: what the driver and buffers of collectives take of it
launch_seconds = { value = 4e-6, source = "assumed" }     # of every kernel
cool_gain = { value = 1.15, source = "assumed" }          # optional: products before the power limit shows (--cool)
overlap_slowdown = { value = 0.1, source = "assumed" }    # optional: added to a kernel beside a transfer, as a share

# Flops per second, dense, of one device (of one core where there are cores). A precision without a line here is
# refused: give fp8, bf16, fp32 and fp64 as far as the device has them.
[device.peak_flops]
fp8 = { value = 1978.9e12, source = "datasheet" }
bf16 = { value = 989.4e12, source = "datasheet" }
fp32 = { value = 66.9e12, source = "datasheet" }

# Optional, for plan.offload: the memory of the host and each device's link to it, which bytes that go both ways share.
[host]
bandwidth = { value = 55e9, source = "assumed" }          # one way
both_ways = { value = 90e9, source = "assumed" }          # together
memory_bytes = { value = 2e12, source = "datasheet" }     # of the host
memory_bandwidth = { value = 614e9, source = "assumed" }  # for plan.offload_update = host
devices = 8                                               # of one host
link_devices = 1                                          # that share one link, as two GPUs a PCIe switch

# Levels of the network, from the inside. `ranks` are those of one unit of the level, a multiple of those of the level
# before; bandwidth is what one rank can send through the level, one way.
[[level]]
name = "node"
ranks = 8
bandwidth = { value = 450e9, source = "datasheet: 900 GB/s, both directions together" }
latency_seconds = { value = 3e-6, source = "assumed" }

[[level]]
name = "cluster"
ranks = 256
bandwidth = { value = 50e9, source = "one 400 Gb/s adapter per GPU" }
latency_seconds = { value = 8e-6, source = "assumed" }
oversubscription = { value = 1, source = "full fat tree" }   # optional: bandwidth is divided by it
ramp_bytes = { value = 0, source = "none" }   # optional: a collective of this size takes twice as long as at bandwidth
# send_bandwidth = { value = 25e9, source = "measured" }   # optional: of one rank that sends to one other, where that is less
# torus = [4, 8]          # optional: 4 x 8 units, those of a line joined in a ring, numbered along the last dimension first
# fully_connected = true  # optional: a link from each unit to each. Of both, bandwidth is that of one link, one way

# The share of max(flops / peak, bytes / bandwidth) that kernels reach. Of matmuls: rows [m, n, k, share]; of other ops:
# [flops, bytes, innermost size, share]. matmul_epilogue and matmul_fp8 are read like matmul unless they have their own, and
# so is expert_matmul: m are the rows of one expert (of expert_matmul_dw, the gradient of its weights, k are).
[[efficiency]]
op = "matmul"
source = "assumed"
points = [
  [256, 256, 256, 0.05],
  [1024, 1024, 1024, 0.35],
  [4096, 4096, 4096, 0.68],
  [8192, 8192, 8192, 0.72],
]

# In place of points, the parts of a kernel's time, which add up: flops (1 + narrow / innermost size) / (ceiling peak) +
# bytes / (memory bandwidth) + fill_seconds. The innermost size is k of a matmul, and the head size of attention.
[[efficiency]]
op = "attention"
source = "assumed"
curve = { ceiling = 1.0, memory = 0.7, fill_seconds = 10e-6, narrow = 80 }

[[efficiency]]
op = "attention_grad"
source = "assumed"
curve = { ceiling = 0.8, memory = 0.5, fill_seconds = 20e-6, narrow = 120 }

# Optional: attention as another program computes it, for `simulate --attention flash2`.
[[efficiency]]
op = "attention"
kernel = "flash2"
source = "assumed"
curve = { ceiling = 0.4, memory = 0.8, fill_seconds = 10e-6, narrow = 20 }

# Needed: every op without a table of its own.
[[efficiency]]
op = "other"
# threads = 1      # of a rank, and
# busy_ranks = 1   # ranks at work at once, where ranks share cores; absent: any
source = "assumed"
points = [[1, 1, 0, 0.8]]

# Optional: the tables of a built-in cluster, for ops that have none here; efficiencies of products times a factor.
# [efficiencies_of]
# cluster = "dgx-h100"
# products = { value = 0.9, source = "assumed" }

# Optional: measured seconds of a collective by bytes of a rank's largest buffer, instead of the links' figures.
# [[collective]]
# op = "all_reduce"
# ranks = 8
# level = "node"   # optional: the outermost level of the groups that it is for
# source = "measured"
# points = [[65536, 3e-5], [1e9, 4.1e-3]]
)toml";

}  // namespace

std::string_view cluster_template() { return kTemplate; }

}  // namespace tessera
