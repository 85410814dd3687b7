// SPDX-License-Identifier: Apache-2.0
// tessera bench collectives: time and bandwidth of each collective, in the format of nccl-tests,
// compared with the machine's copy bandwidth.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "comm/local/run_ranks.h"
#include "comm/machines.h"
#include "comm/mpi/mpi_process.h"
#include "core/quantities.h"
#include "exec/device.h"
#include "files/json.h"
#include "measure/collective_bench.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "size is the largest buffer of a rank, count its elements, time one collective in\n"
    "microseconds (warmed up, between two barriers, averaged). algbw = size / time. busbw =\n"
    "algbw x f, with f = 2 (n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter,\n"
    "all_to_all, gather and scatter; 1 for broadcast, reduce and send, as in nccl-tests. All\n"
    "are in place where that is possible; send is one hop of a ring. The ceiling is the\n"
    "machine's copy bandwidth, read plus written, with a thread on every core that ranks can\n"
    "use; x copy is the time in which it would move 3 x size per rank, over the time measured:\n"
    "above 1 means faster than that.\n"
    "Examples:\n"
    "  tessera bench collectives --ranks 4\n"
    "  tessera bench collectives --ranks 2 --kinds all_reduce --sizes 64MB,400MB\n"
    "  mpirun -np 4 tessera bench collectives --backend mpi\n"
    "  mpirun -np 8 tessera bench collectives --backend nccl     a GPU for each rank\n"
    "  tessera bench collectives --dtype bf16 --json";

struct BenchCollectives {
  int ranks = 4;
  std::string backend, dtype = "fp32", reduction = "sum";
  std::vector<std::string> kinds;
  std::vector<std::string> sizes{"1KB", "64KB", "1MB", "16MB", "64MB", "400MB"};  // 100M fp32
  bool json = false;
};

struct Work {
  std::vector<CollectiveBenchOptions> items;
  int64_t largest_bytes = 0;
};

std::vector<CollectiveKind> chosen_kinds(const BenchCollectives& command) {
  std::vector<CollectiveKind> kinds;
  for (int i = 0; i < kNumCollectiveKinds; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    if (kind == CollectiveKind::Recv || kind == CollectiveKind::Barrier || moves_rows(kind))
      continue;
    const bool named =
        std::find(command.kinds.begin(), command.kinds.end(), name(kind)) != command.kinds.end();
    if (command.kinds.empty() || named) kinds.push_back(kind);
  }
  return kinds;
}

Work work_of(const BenchCollectives& command) {
  Work work;
  std::vector<int64_t> sizes;
  for (const std::string& size : command.sizes)
    sizes.push_back(parse_byte_size(size, "--sizes " + size));
  for (const CollectiveKind kind : chosen_kinds(command))
    for (const int64_t size : sizes) {
      work.items.push_back({.kind = kind,
                            .reduction = *reduction_from_name(command.reduction),
                            .dtype = *dtype_from_name(command.dtype),
                            .bytes = size});
      work.largest_bytes = std::max(work.largest_bytes, size);
    }
  return work;
}

// The first rank's timings are the ones shown.
std::vector<CollectiveTiming> bench_on(Communicator& group, const Work& work, std::byte* input,
                                       std::byte* output, const HostOfGroup* host = nullptr) {
  std::vector<CollectiveTiming> timings;
  for (const CollectiveBenchOptions& item : work.items)
    timings.push_back(bench_collective(group, item, input, output, host));
  return timings;
}

bool copies_out_of_place(const Work& work) {
  return std::any_of(work.items.begin(), work.items.end(),
                     [](const CollectiveBenchOptions& item) { return needs_output(item.kind); });
}

struct Report {
  std::vector<CollectiveTiming> timings;
  std::string backend;
  int ranks = 0, copy_threads = 0;
  double copy_bytes_per_second = 0;
};

Json to_json(const Report& report) {
  Json json{{"backend", report.backend},
            {"ranks", report.ranks},
            {"copy_bytes_per_second", report.copy_bytes_per_second},
            {"copy_threads", report.copy_threads}};
  for (const CollectiveTiming& timing : report.timings)
    json["results"].push_back({{"collective", name(timing.kind)},
                               {"bytes", timing.bytes},
                               {"count", timing.count},
                               {"dtype", name(timing.dtype)},
                               {"reduction", name(timing.reduction)},
                               {"iterations", timing.iterations},
                               {"seconds", timing.seconds},
                               {"algorithm_bytes_per_second", timing.algorithm_bytes_per_second},
                               {"bus_bytes_per_second", timing.bus_bytes_per_second},
                               {"bus_factor", bus_factor(timing.kind, report.ranks)}});
  return json;
}

void print_table(const Report& report) {
  fmt::print(
      "# {} ranks, backend {}; copy bandwidth {:.2f} GB/s with {} threads (read + written)\n",
      report.ranks, report.backend, report.copy_bytes_per_second / 1e9, report.copy_threads);
  for (size_t i = 0; i < report.timings.size(); ++i) {
    const CollectiveTiming& timing = report.timings[i];
    const bool first = i == 0 || report.timings[i - 1].kind != timing.kind;
    if (first)
      fmt::print("\n# {}: busbw = algbw x {}\n{:>12} {:>12} {:>6} {:>6} {:>12} {:>8} {:>8} {:>7}\n",
                 name(timing.kind), bus_formula(timing.kind), "size (B)", "count", "type", "redop",
                 "time (us)", "algbw", "busbw", "x copy");
    const double copy_seconds =
        3.0 * static_cast<double>(timing.bytes) * report.ranks / report.copy_bytes_per_second;
    fmt::print("{:>12} {:>12} {:>6} {:>6} {:>12.1f} {:>8.2f} {:>8.2f} {:>7.2f}\n", timing.bytes,
               timing.count, name(timing.dtype), name(timing.reduction), timing.seconds * 1e6,
               timing.algorithm_bytes_per_second / 1e9, timing.bus_bytes_per_second / 1e9,
               copy_seconds / timing.seconds);
  }
}

void show(const BenchCollectives& command, Report report) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  report.copy_threads = std::min(report.ranks, cores);
  report.copy_bytes_per_second = copy_bytes_per_second(report.copy_threads);
  if (command.json)
    print_json(to_json(report));
  else
    print_table(report);
}

void run_local(const BenchCollectives& command, const Work& work) {
  Report report{.timings = {}, .backend = "local", .ranks = command.ranks};
  run_ranks(command.ranks, [&](RankWorld& world) {
    std::vector<std::byte> input(static_cast<size_t>(work.largest_bytes));
    std::vector<std::byte> output(
        static_cast<size_t>(copies_out_of_place(work) ? work.largest_bytes : 0));
    auto timings = bench_on(*world.everyone("all"), work, input.data(), output.data());
    if (world.rank() == 0) report.timings = std::move(timings);
  });
  show(command, std::move(report));
}

void run_mpi(const BenchCollectives& command, const Work& work) {
  run_mpi_rank([&](RankWorld& world) {
    std::vector<std::byte> input(static_cast<size_t>(work.largest_bytes));
    std::vector<std::byte> output(
        static_cast<size_t>(copies_out_of_place(work) ? work.largest_bytes : 0));
    auto timings = bench_on(*world.everyone("all"), work, input.data(), output.data());
    if (world.rank() == 0)
      show(command, {.timings = std::move(timings), .backend = "mpi", .ranks = world.size()});
  });
}

// NCCL has no others.
bool runs_on_nccl(CollectiveKind kind) {
  return kind != CollectiveKind::Scatter && kind != CollectiveKind::Gather;
}

void run_nccl(const BenchCollectives& command, Work work) {
  std::erase_if(work.items,
                [](const CollectiveBenchOptions& item) { return !runs_on_nccl(item.kind); });
  const Device& gpus = require_device(DeviceKind::Cuda);
  run_mpi_rank([&](RankWorld& world) {
    gpus.take_for_rank(world.rank(), machines_of_ranks(world));
    const std::unique_ptr<DeviceLinks> links = gpus.make_links(world);
    std::byte* input = links->allocate(work.largest_bytes);
    std::byte* output = copies_out_of_place(work) ? links->allocate(work.largest_bytes) : nullptr;
    const auto hosts = world.everyone("hosts");
    const HostOfGroup host{*hosts, [&] { links->await(); }};
    auto timings = bench_on(links->everyone(), work, input, output, &host);
    if (world.rank() == 0)
      show(command, {.timings = std::move(timings), .backend = "nccl", .ranks = world.size()});
  });
}

void run(const BenchCollectives& command) {
  const Work work = work_of(command);
  if (command.backend == "nccl") {
    if (!launched_by_mpi() && built_with_mpi())
      throw user_error("--backend nccl: this process was not started by mpirun or srun")
          .help(
              fmt::format("mpirun -np {} tessera bench collectives --backend nccl", command.ranks));
    return run_nccl(command, work);
  }
  const bool mpi = command.backend.empty() ? launched_by_mpi() : command.backend == "mpi";
  if (!mpi) return run_local(command, work);
  if (!launched_by_mpi() && built_with_mpi())
    throw user_error("--backend mpi: this process was not started by mpirun or srun")
        .help(fmt::format("mpirun -np {} tessera bench collectives --backend mpi", command.ranks));
  run_mpi(command, work);
}

}  // namespace

void add_bench_collectives(Command bench) {
  auto command = std::make_shared<BenchCollectives>();
  const Command collectives =
      bench.add_subcommand("collectives", "time and bandwidth of each collective");
  collectives.footer(kFooter);
  collectives.add_option("--ranks", command->ranks, "number of ranks; under MPI, mpirun decides")
      .range(1, 256)
      .show_default();
  collectives
      .add_option(
          "--backend", command->backend,
          "local, mpi, or nccl for ranks with a GPU each; default: mpi if started by mpirun "
          "or srun, else local")
      .choices({"local", "mpi", "nccl"});
  std::vector<std::string> kinds;
  for (const CollectiveKind kind : chosen_kinds({})) kinds.emplace_back(name(kind));
  collectives.add_option("--kinds", command->kinds, "which collectives; default: all")
      .delimiter(',')
      .choices(kinds);
  collectives.add_option("--sizes", command->sizes, "bytes of a rank's largest buffer")
      .delimiter(',')
      .show_default();
  collectives.add_option("--dtype", command->dtype, "fp32, bf16, fp64 or int32")
      .choices({"fp32", "bf16", "fp64", "int32"})
      .show_default();
  add_reduction_option(collectives, command->reduction);
  add_json_flag(collectives, command->json);
  collectives.on_run([command] { run(*command); });
}

}  // namespace tessera
