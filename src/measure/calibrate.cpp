// SPDX-License-Identifier: Apache-2.0
#include "measure/calibrate.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "comm/local/run_ranks.h"
#include "exec/cpu/peak_rate.h"
#include "measure/collective_bench.h"
#include "measure/kernel_calibration.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

constexpr int kMostRanks = 4;  // of a measured collective

ClusterDevice measured_device(int cores) {
  ThreadPool one(1);
  const double peak = measure_peak_rate(one);
  const std::string source = "measured", known = cpu_model_name();
  const std::string processor = known.empty() ? "CPU" : known;
  return {.name = fmt::format("{}, {} core{}", processor, cores, cores == 1 ? "" : "s"),
          .cores = cores,
          .peak_flops = {{Arithmetic::Fp32, {peak, source}},
                         {Arithmetic::Fp64, {peak / 2, "half of fp32: vectors hold half as many"}}},
          .memory_bytes = {installed_memory_bytes(), "the operating system"},
          .memory_bandwidth = {copy_bytes_per_second(cores), source},
          .launch_seconds = {},
          .overlap_slowdown = {0, "ranks move bytes themselves"}};
}

struct MeasuredOp {
  CollectiveKind kind;
  CollectiveOp op;
};
constexpr std::array kOps{MeasuredOp{CollectiveKind::AllReduce, CollectiveOp::AllReduce},
                          MeasuredOp{CollectiveKind::AllGather, CollectiveOp::AllGather},
                          MeasuredOp{CollectiveKind::ReduceScatter, CollectiveOp::ReduceScatter},
                          MeasuredOp{CollectiveKind::AllToAll, CollectiveOp::AllToAll},
                          MeasuredOp{CollectiveKind::Send, CollectiveOp::Shift}};
constexpr std::array<int64_t, 6> kSizes{64, 4 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20};

std::vector<CollectiveTable> measured_collectives(int ranks, double seconds_each) {
  std::vector<CollectiveTable> tables;
  run_ranks(ranks, [&](RankWorld& world) {
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    const auto group = world.group(all, "all");
    std::vector<std::byte> input(kSizes.back()), output(kSizes.back());
    for (const MeasuredOp& each : kOps) {
      CollectiveTable table{.op = each.op, .ranks = ranks, .source = "measured", .points = {}};
      for (const int64_t bytes : kSizes) {
        const CollectiveTiming timing = bench_collective(
            *group, {.kind = each.kind, .bytes = bytes, .measured_seconds = seconds_each},
            input.data(), output.data());
        table.points.emplace_back(static_cast<double>(bytes), timing.seconds);
      }
      if (world.rank() == 0) tables.push_back(std::move(table));
    }
  });
  return tables;
}

// What links would have to be like; only for collectives that no table has.
Level measured_level(const std::vector<CollectiveTable>& tables) {
  const auto shift = std::find_if(tables.begin(), tables.end(), [](const CollectiveTable& table) {
    return table.op == CollectiveOp::Shift && table.ranks == 2;
  });
  const auto [bytes, seconds] = shift->points.back();
  return {.name = "memory",
          .ranks = 1024,
          .bandwidth = {bytes / seconds, "measured, a shift between two ranks"},
          .latency_seconds = {shift->points.front().second, "measured, a shift of 64 bytes"}};
}

}  // namespace

Cluster calibrate(const CalibrateOptions& options) {
  const auto say = [&](std::string_view text) {
    if (options.progress) options.progress(text);
  };
  Cluster cluster{.name = options.name, .calibrated = true};
  cluster.moves_in_wait = true;
  say("peaks of cores and memory");
  cluster.device = measured_device(options.cores);
  for (int ranks = 2; ranks <= (options.quick ? 2 : kMostRanks); ++ranks) {
    say(fmt::format("collectives of {} ranks", ranks));
    for (CollectiveTable& table : measured_collectives(ranks, options.quick ? 0.005 : 0.06))
      cluster.collectives.push_back(std::move(table));
  }
  cluster.levels = {measured_level(cluster.collectives)};
  KernelCalibration kernels = calibrate_kernels(cluster, options.cores, options.quick, say);
  cluster.efficiencies = std::move(kernels.tables);
  cluster.device.launch_seconds = {kernels.launch_seconds, "measured"};
  return cluster;
}

}  // namespace tessera
