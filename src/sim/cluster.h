// SPDX-License-Identifier: Apache-2.0
// What the simulator knows about a cluster: one device, the links by level of the topology, and how
// much of their peaks kernels and collectives reach. Read from a file in clusters/ or of the user;
// every figure names its source.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/precision.h"
#include "ir/op_kind.h"
#include "program/collective_op.h"
#include "sim/arithmetic.h"

namespace tessera {

struct Figure {
  double value = 0;
  std::string source;  // "assumed" if it was neither published nor measured
};

struct ClusterDevice {
  std::string name;
  // Cores that all ranks share, one thread each; 0: every rank has its own device.
  int cores = 0;
  std::vector<std::pair<Arithmetic, Figure>> peak_flops = {};  // per second; of a core, if any
  Figure memory_bytes = {}, memory_bandwidth = {};             // bytes, bytes per second
  // Bytes that no program of ours can have: the driver's and its libraries', and buffers of
  // collectives.
  Figure reserve_bytes = {0, "none"};
  Figure launch_seconds = {};  // of every kernel
  // Of products that end before the power limit shows, in tenths of a second: their rate relative
  // to that of steady training, which the efficiencies give.
  Figure cool_gain = {1, "none"};
  Figure overlap_slowdown = {};  // time added to a kernel, as a share of its overlap with transfers

  // An arithmetic without its own figure uses that of the nearest wider one, else of the widest: no
  // matmul uses it then (check_precision), and only bytes matter.
  double peak(Arithmetic arithmetic) const;
  double usable_bytes() const { return memory_bytes.value - reserve_bytes.value; }
};

// Units of a level hold `ranks` ranks each; ranks fill them in order. The units of the level below
// are joined by a switch; or as a torus, or each with each, and then bandwidth is that of one link.
struct Level {
  std::string name;
  int ranks = 1;
  Figure bandwidth = {};  // bytes per second that each rank can send through the level, one way
  Figure latency_seconds = {};
  Figure oversubscription = {1, "none"};  // bandwidth is divided by it
  // A collective of this many bytes takes twice as long as at bandwidth, one of a quarter thrice.
  Figure ramp_bytes = {0, "none"};
  // Bytes per second of one rank that sends to one other, where that is less: libraries give a
  // single send a part of the links. 0: as bandwidth.
  Figure send_bandwidth = {0, "as bandwidth"};
  std::vector<int> torus = {};  // units along each dimension, numbered along the last first
  bool fully_connected = false;

  double rate() const { return bandwidth.value / oversubscription.value; }
  double send_rate() const {
    return send_bandwidth.value > 0 ? std::min(send_bandwidth.value, rate()) : rate();
  }
};

// The memory of the host and the link to it, of each device of a host.
struct HostLink {
  Figure bandwidth = {};                            // bytes per second, one way
  Figure both_ways = {};                            // together, while bytes go both ways
  Figure memory_bytes = {}, memory_bandwidth = {};  // of the host: bytes, bytes per second
  int devices = 1;                                  // that share the host's memory
  int link_devices = 1;                             // that share one link

  double bytes_of_device() const { return memory_bytes.value / devices; }
  // Of each of these ranks of one host, which copy at the same time: one way, and both together.
  double one_way(int ranks) const { return rate(bandwidth, ranks); }
  double together(int ranks) const { return rate(both_ways, ranks); }

 private:
  double rate(const Figure& link, int ranks) const {
    return std::min(link.value / std::min(ranks, link_devices),
                    memory_bandwidth.value / std::min(ranks, devices));
  }
};

// The share of the roofline, max(flops / peak, bytes / bandwidth), that an op's kernel reaches, by
// size (kernel_size). Above 1 where data stays in caches.
struct EfficiencyPoint {
  std::array<double, 3> size{};
  double efficiency = 0;
};

// In place of points, where few were measured: the parts of a kernel's time, which add up.
//   flops (1 + narrow / innermost size) / (ceiling peak) + bytes / (memory bandwidth) + fill
struct EfficiencyCurve {
  double ceiling = 1;       // the share of the peak that large kernels reach
  double memory = 1;        // the share of the memory's bandwidth; above 1 where caches help
  double fill_seconds = 0;  // until all of the device works, and after most of it has ended
  double narrow = 0;        // what a head's size (k of a matmul) costs beside its flops
};

struct EfficiencyTable {
  std::optional<OpKind> op;  // none: "other", every op without a table of its own
  int threads = 0;           // of a rank; 0: any
  int busy_ranks = 0;        // at work at once; 0: any
  std::string source = {};
  std::vector<EfficiencyPoint> points = {};
  std::optional<EfficiencyCurve> curve = {};
  std::string kernel = {};  // of another program, which `simulate --attention` names; empty: ours
};

inline constexpr std::string_view kOtherOps = "other";
inline std::string_view op_text(const EfficiencyTable& table) {
  return table.op ? name(*table.op) : kOtherOps;
}

// Seconds of a collective by bytes of a rank's largest buffer; used instead of the links' figures
// for groups whose outermost level it names, or for all groups if it names none.
struct CollectiveTable {
  CollectiveOp op;
  int ranks = 2;
  std::string source = {};
  std::vector<std::pair<double, double>> points = {};  // bytes, seconds; ascending
  std::string level = {};
};

enum class CollectiveAlgorithm : uint8_t { Fastest, Ring, Tree, Hierarchical };

struct Cluster {
  std::string name;
  bool calibrated = false;
  ClusterDevice device = {};
  std::vector<Level> levels = {};     // from the innermost
  std::optional<HostLink> host = {};  // none: not known, or the host's own cores are the device
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Fastest;
  bool moves_in_wait = false;  // ranks move bytes themselves while they wait: nothing is hidden
  std::vector<EfficiencyTable> efficiencies = {};
  std::vector<CollectiveTable> collectives = {};
  std::vector<std::string> unknown = {};  // sentences: what the simulator does not know about it
};

// A file, or the name of a built-in cluster. Throws a UserError.
Cluster load_cluster(const std::string& name_or_file);
std::vector<std::string> cluster_names();
// For a help line: the name that is nearest to a mistyped one, and where the others are listed.
std::string cluster_choices(const std::string& mistyped = "");

Cluster parse_cluster(std::string_view toml, const std::string& origin);
// A template with every key, each with a comment.
std::string_view cluster_template();
std::string to_toml(const Cluster& cluster);

// A UserError that names the supported precisions, if the device has no peak for this one. Cores
// multiply bf16 and fp8 in fp32.
void check_precision(const Cluster& cluster, Precision precision);

}  // namespace tessera
