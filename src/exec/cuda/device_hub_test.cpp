// SPDX-License-Identifier: Apache-2.0
// Collectives among ranks of one GPU, bit by bit against the same ones among threads on the CPU.
#include "exec/cuda/device_hub.h"

#include <gtest/gtest.h>

#include "comm/local/run_ranks.h"
#include "core/random.h"
#include "exec/device.h"

namespace tessera {
namespace {

using Kind = CollectiveKind;
constexpr int kRanks = 3;

struct Case {
  Kind kind;
  Reduction reduction;
  DType dtype;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16, DType::Int32}) {
    for (const Kind kind : {Kind::AllGather, Kind::AllToAll, Kind::Send})
      all.push_back({kind, Reduction::Sum, dtype});
    for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter})
      for (const Reduction reduction : {Reduction::Sum, Reduction::Mean, Reduction::Max})
        all.push_back({kind, reduction, dtype});
  }
  return all;
}

std::string title(const testing::TestParamInfo<Case>& info) {
  return fmt::format("{}_{}_{}", name(info.param.kind), name(info.param.reduction),
                     name(info.param.dtype));
}

// Parts of 5 x 7 x 11 elements inside wider tensors, with gaps that nobody may touch.
constexpr Parts kParts{.outer = 5,
                       .outer_stride = 7 * (kRanks * 11 + 3) + 2,
                       .middle = 7,
                       .middle_stride = kRanks * 11 + 3,
                       .part_stride = 11,
                       .inner = 11};
constexpr int64_t kElements = kParts.outer * kParts.outer_stride;

// What a rank has before: an input of made numbers, then an output of sevens.
std::vector<std::byte> made_buffers(DType dtype, int rank) {
  const RandomStream random(5, "values");
  std::vector<std::byte> bytes(static_cast<size_t>(2 * kElements * size_bytes(dtype)),
                               std::byte{7});
  for (int64_t i = 0; i < kElements; ++i) {
    const double value = random.normal(static_cast<uint64_t>(rank * kElements + i));
    if (dtype == DType::Int32)
      reinterpret_cast<int32_t*>(bytes.data())[i] = static_cast<int32_t>(1000 * value);
    else
      dispatch_float(dtype, [&]<typename T>() {
        reinterpret_cast<T*>(bytes.data())[i] = store<T>(static_cast<Accumulator<T>>(value));
      });
  }
  return bytes;
}

// Sends go round a ring, as a shift does.
std::vector<Collective> collectives_of(const Case& c, int rank, std::byte* buffers) {
  Collective one{.kind = c.kind,
                 .reduction = c.reduction,
                 .dtype = c.dtype,
                 .input = buffers,
                 .input_parts = kParts,
                 .output = buffers + kElements * size_bytes(c.dtype),
                 .output_parts = kParts,
                 .name = "test"};
  if (c.kind != Kind::Send) return {one};
  Collective receive = one;
  receive.kind = Kind::Recv;
  receive.root = (rank + kRanks - 1) % kRanks;
  one.root = (rank + 1) % kRanks;
  return {receive, one};
}

class GpuCollective : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(GpuCollective, GivesTheBitsOfThreads) {
  const Case& c = GetParam();
  std::vector<std::vector<std::byte>> expected;
  for (int rank = 0; rank < kRanks; ++rank) expected.push_back(made_buffers(c.dtype, rank));
  run_ranks(kRanks, [&](RankWorld& world) {
    const auto group = world.everyone("all");
    std::vector<Ticket> tickets;
    for (const Collective& each :
         collectives_of(c, world.rank(), expected[static_cast<size_t>(world.rank())].data()))
      tickets.push_back(group->start(each));
    for (const Ticket ticket : tickets) group->wait(ticket);
  });

  DeviceHub hub(kRanks);
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<std::unique_ptr<Communicator>> groups;
  std::vector<std::vector<Ticket>> tickets(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto bytes = made_buffers(c.dtype, rank);
    memory.push_back(std::make_unique<DeviceMemory>(static_cast<int64_t>(bytes.size())));
    memory.back()->fill(bytes);
    groups.push_back(hub.world(rank).everyone("all"));
    for (const Collective& each : collectives_of(c, rank, memory.back()->data()))
      tickets[static_cast<size_t>(rank)].push_back(groups.back()->start(each));
    EXPECT_EQ(groups[0]->may_wait(tickets[0].front()), rank == kRanks - 1);
  }
  EXPECT_EQ(hub.unfinished(), "");
  for (size_t rank = 0; rank < kRanks; ++rank) {
    for (const Ticket ticket : tickets[rank]) groups[rank]->wait(ticket);
    hub.stream(static_cast<int>(rank)).wait();
    std::vector<std::byte> seen(expected[rank].size());
    check_cuda(cudaMemcpy(seen.data(), memory[rank]->data(), seen.size(), cudaMemcpyDeviceToHost),
               "read");
    EXPECT_EQ(seen, expected[rank]) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(GpuCollectives, GpuCollective, testing::ValuesIn(cases()), title);

TEST(GpuHub, NamesWhatOthersHaveYetToStart) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  DeviceHub hub(kRanks);
  const DeviceMemory memory(1024);
  const auto group = hub.world(1).everyone("dp");
  const Parts parts = contiguous_parts(8);
  group->start({.kind = Kind::AllReduce,
                .input = memory.data(),
                .input_parts = parts,
                .output = memory.data(),
                .output_parts = parts,
                .name = "w1"});
  EXPECT_EQ(hub.unfinished(), "all_reduce #0 w1 over dp={0,1,2}, not started by rank 0, rank 2");
}

}  // namespace
}  // namespace tessera
