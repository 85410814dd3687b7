// SPDX-License-Identifier: Apache-2.0
#include "measure/collective_bench.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "system/seconds_since.h"
#include "system/threads.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// The compiler must not find out that nobody reads the copy.
void copy_block(std::byte* to, const std::byte* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  asm volatile("" : : "r"(to) : "memory");
}

bool cut_into_parts(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::Scatter:
    case CollectiveKind::Gather:
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      return true;
    default:
      return false;
  }
}

// The collective in place wherever that is allowed.
Collective in_place(const CollectiveBenchOptions& options, int64_t part_elements, int rank,
                    std::byte* input, std::byte* output) {
  const Parts parts = contiguous_parts(part_elements);
  const int64_t own = rank * part_elements * size_bytes(options.dtype);
  Collective collective{.kind = options.kind,
                        .reduction = options.reduction,
                        .dtype = options.dtype,
                        .input = input,
                        .input_parts = parts,
                        .output = input,
                        .output_parts = parts,
                        .name = "bench"};
  const bool root = rank == 0;
  switch (options.kind) {
    case CollectiveKind::AllGather:
    case CollectiveKind::Gather:
      collective.input = input + own;
      if (options.kind == CollectiveKind::Gather && !root) collective.output = nullptr;
      break;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Scatter:
      collective.output = input + own;
      if (options.kind == CollectiveKind::Scatter && !root) collective.input = nullptr;
      break;
    case CollectiveKind::AllToAll:
    case CollectiveKind::Recv:
      collective.output = output;
      break;
    default:
      break;
  }
  return collective;
}

void run_once(Communicator& group, const Collective& collective, std::byte* output) {
  if (collective.kind != CollectiveKind::Send) return group.run(collective);
  if (group.size() == 1) return;
  const int rank = group.rank(), size = group.size();
  Collective send = collective, recv = collective;
  send.root = (rank + 1) % size;
  recv.kind = CollectiveKind::Recv;
  recv.root = (rank + size - 1) % size;
  recv.output = output;
  std::array<Ticket, 2> tickets{};
  group.start_together(std::array{send, recv}, tickets);
  for (const Ticket ticket : tickets) group.wait(ticket);
}

// The same number on every member: the first one's.
int32_t agreed(Communicator& group, int32_t number) {
  auto* data = reinterpret_cast<std::byte*>(&number);
  // Staged by value: four bytes always travel inside the mailbox.
  group.run({.kind = CollectiveKind::Broadcast,
             .dtype = DType::Int32,
             .input = data,
             .input_parts = contiguous_parts(1),
             .output = data,
             .output_parts = contiguous_parts(1),
             .name = "bench"});
  return number;
}

double timed(Communicator& group, const HostOfGroup& host, const Collective& collective,
             std::byte* output, int times) {
  const Collective barrier{.kind = CollectiveKind::Barrier, .name = "bench"};
  host.group.run(barrier);
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < times; ++i) run_once(group, collective, output);
  host.await();
  host.group.run(barrier);
  return seconds_since(begin) / times;
}

}  // namespace

bool needs_output(CollectiveKind kind) {
  return kind == CollectiveKind::AllToAll || kind == CollectiveKind::Send;
}

double bus_factor(CollectiveKind kind, int ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  if (kind == CollectiveKind::AllReduce) return 2 * share;
  return cut_into_parts(kind) ? share : 1;
}

std::string_view bus_formula(CollectiveKind kind) {
  if (kind == CollectiveKind::AllReduce) return "2 (n-1)/n";
  return cut_into_parts(kind) ? "(n-1)/n" : "1";
}

CollectiveTiming bench_collective(Communicator& group, const CollectiveBenchOptions& options,
                                  std::byte* input, std::byte* output, const HostOfGroup* beside) {
  const HostOfGroup host = beside ? *beside : HostOfGroup{group, [] {}};
  const int64_t parts = cut_into_parts(options.kind) ? group.size() : 1;
  const int64_t part_elements = options.bytes / size_bytes(options.dtype) / parts;
  const Collective collective = in_place(options, part_elements, group.rank(), input, output);
  run_once(group, collective, output);
  host.await();
  const double once = timed(group, host, collective, output, 1);
  const int wanted = static_cast<int>(std::clamp(options.measured_seconds / once, 2.0, 2000.0));
  CollectiveTiming timing{.kind = options.kind,
                          .reduction = options.reduction,
                          .dtype = options.dtype,
                          .count = part_elements * parts,
                          .bytes = part_elements * parts * size_bytes(options.dtype),
                          .iterations = agreed(host.group, wanted)};
  timing.seconds = timed(group, host, collective, output, timing.iterations);
  timing.algorithm_bytes_per_second = static_cast<double>(timing.bytes) / timing.seconds;
  timing.bus_bytes_per_second =
      timing.algorithm_bytes_per_second * bus_factor(options.kind, group.size());
  return timing;
}

double copy_bytes_per_second(int threads) {
  constexpr size_t kBytes = size_t{64} << 20;
  constexpr int kTimes = 8;
  std::barrier together(threads);
  std::vector<double> seconds(static_cast<size_t>(threads));
  std::vector<std::thread> workers = start_threads(threads, [&](int worker) {
    const auto from = std::make_unique<std::byte[]>(kBytes);
    const auto to = std::make_unique<std::byte[]>(kBytes);
    copy_block(to.get(), from.get(), kBytes);
    together.arrive_and_wait();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kTimes; ++i) copy_block(to.get(), from.get(), kBytes);
    together.arrive_and_wait();
    seconds[static_cast<size_t>(worker)] = seconds_since(begin);
  });
  for (std::thread& worker : workers) worker.join();
  const double slowest = *std::max_element(seconds.begin(), seconds.end());
  return 2.0 * kBytes * kTimes * threads / slowest;
}

}  // namespace tessera
