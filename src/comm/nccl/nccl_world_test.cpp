// SPDX-License-Identifier: Apache-2.0
// NCCL with one rank on one GPU: every collective really runs, directly and from a graph, against
// the same one on the CPU; and what is told when something goes wrong. NCCL takes no two ranks of a
// machine on one GPU.
#include "comm/nccl/nccl_world.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "comm/failure/peer_error.h"
#include "comm/local/run_ranks.h"
#include "comm/nccl/nccl_progress.h"
#include "comm/testing/sample_values.h"
#include "exec/cuda/device_graph.h"
#include "exec/device.h"

namespace tessera {
namespace {

using Kind = CollectiveKind;

struct Case {
  Kind kind;
  Reduction reduction;
  DType dtype;
  bool dense;

  std::string title() const {
    return fmt::format("{} {} {} {}", name(kind), name(reduction), name(dtype),
                       dense ? "dense" : "strided");
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16, DType::Int32})
    for (const bool dense : {true, false}) {
      for (const Kind kind : {Kind::AllGather, Kind::AllToAll, Kind::Broadcast, Kind::Send})
        all.push_back({kind, Reduction::Sum, dtype, dense});
      for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::Reduce})
        for (const Reduction reduction : {Reduction::Sum, Reduction::Mean, Reduction::Max})
          all.push_back({kind, reduction, dtype, dense});
    }
  return all;
}

// 5 x 7 x 11 elements, alone or inside a wider tensor whose gaps nobody may touch.
Parts parts_of(const Case& c) {
  if (c.dense) return contiguous_parts(5 * 7 * 11);
  return {.outer = 5,
          .outer_stride = 7 * 14 + 2,
          .middle = 7,
          .middle_stride = 14,
          .part_stride = 11,
          .inner = 11};
}
constexpr int64_t kElements = 5 * (7 * 14 + 2);

// An input of made numbers, then an output of sevens.
std::vector<std::byte> made_buffers(DType dtype) {
  std::vector<std::byte> bytes(static_cast<size_t>(2 * kElements * size_bytes(dtype)),
                               std::byte{7});
  for (int64_t i = 0; i < kElements; ++i) put_value(dtype, bytes.data(), i, sample_value(0, i));
  return bytes;
}

std::vector<Collective> collectives_of(const Case& c, std::byte* buffers) {
  Collective one{.kind = c.kind,
                 .reduction = c.reduction,
                 .dtype = c.dtype,
                 .input = buffers,
                 .input_parts = parts_of(c),
                 .output = buffers + kElements * size_bytes(c.dtype),
                 .output_parts = parts_of(c),
                 .name = "test"};
  if (c.kind != Kind::Send) return {one};
  Collective receive = one;
  receive.kind = Kind::Recv;
  return {receive, one};
}

void run_together(Communicator& group, const std::vector<Collective>& collectives) {
  std::vector<Ticket> tickets(collectives.size());
  group.start_together(collectives, tickets);
  for (const Ticket ticket : tickets) group.wait(ticket);
}

std::vector<std::byte> bytes_of(const DeviceMemory& memory) {
  std::vector<std::byte> bytes(static_cast<size_t>(memory.bytes()));
  check_cuda(cudaMemcpy(bytes.data(), memory.data(), bytes.size(), cudaMemcpyDeviceToHost), "read");
  return bytes;
}

class GpuNccl : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};
TEST_F(GpuNccl, EveryCollectiveOfOneRankGivesTheBitsOfTheCpu) {
  run_ranks(1, [&](RankWorld& hosts) {
    const DeviceStream stream;
    const auto world = make_nccl_world(hosts, stream.get());
    const auto group = world->everyone("dp"), on_cpu = hosts.everyone("cpu");
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.title());
      std::vector<std::byte> expected = made_buffers(c.dtype);
      Case same = c;
      if (c.kind == Kind::Send) same.kind = Kind::AllGather;  // a copy, too
      run_together(*on_cpu, collectives_of(same, expected.data()));

      const DeviceMemory memory(static_cast<int64_t>(expected.size()));
      memory.fill(made_buffers(c.dtype));
      run_together(*group, collectives_of(c, memory.data()));
      EXPECT_EQ(world->await(stream.get()), cudaSuccess);
      EXPECT_TRUE(bytes_of(memory) == expected);

      memory.fill(made_buffers(c.dtype));
      DeviceGraph graph;
      graph.record(stream, [&] { run_together(*group, collectives_of(c, memory.data())); });
      EXPECT_TRUE(bytes_of(memory) == made_buffers(c.dtype)) << "recording ran it";
      graph.launch(stream);
      EXPECT_EQ(world->await(stream.get()), cudaSuccess);
      EXPECT_TRUE(bytes_of(memory) == expected) << "from a graph";
    }
  });
}

// Where rows of experts end: of one rank, its pool is what it sorted, as far as there is room.
TEST_F(GpuNccl, RowsOfOneRankAreThoseOfTheCpu) {
  constexpr int64_t kRows = 9, kColumns = 6, kNumbers = kRows * kColumns;
  const std::vector<std::vector<int32_t>> tables{
      {2, 2, 5, 9}, {0, 0, 0, 0}, {0, 9, 9, 9}, {4, 8, 8, 12}};
  run_ranks(1, [&](RankWorld& hosts) {
    const DeviceStream stream;
    const auto world = make_nccl_world(hosts, stream.get());
    const auto group = world->everyone("ep"), on_cpu = hosts.everyone("cpu");
    const auto rows = [&](Kind kind, const int32_t* ends, std::byte* buffers) {
      return Collective{.kind = kind,
                        .dtype = DType::Fp32,
                        .input = buffers,
                        .input_parts = contiguous_parts(kNumbers),
                        .output = buffers + kNumbers * sizeof(float),
                        .output_parts = contiguous_parts(kNumbers),
                        .table = {.ends = ends, .experts = 4, .rows = kRows},
                        .name = "rows"};
    };
    for (const Kind kind : {Kind::PutRows, Kind::TakeRows}) {
      std::vector<std::byte> made = made_buffers(DType::Fp32);
      made.resize(static_cast<size_t>(2 * kNumbers) * sizeof(float));
      const DeviceMemory memory(static_cast<int64_t>(made.size())), ends(4 * sizeof(int32_t));
      DeviceGraph graph;
      for (const std::vector<int32_t>& table : tables) {
        SCOPED_TRACE(fmt::format("{} {}", name(kind), fmt::join(table, " ")));
        std::vector<std::byte> expected = made;
        on_cpu->run(rows(kind, table.data(), expected.data()));
        memory.fill(made);
        ends.fill(std::as_bytes(std::span(table)));
        const Collective moved =
            rows(kind, reinterpret_cast<const int32_t*>(ends.data()), memory.data());
        if (&table == &tables.front())
          group->run(moved);
        else if (!graph.recorded())
          graph.record(stream, [&] { group->run(moved); });
        if (graph.recorded()) graph.launch(stream);
        EXPECT_EQ(world->await(stream.get()), cudaSuccess);
        EXPECT_TRUE(bytes_of(memory) == expected);
      }
    }
  });
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const PeerError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(GpuNccl, AnErrorNamesTheCollectiveTheValueAndThePeers) {
  run_ranks(1, [](RankWorld& hosts) {
    const DeviceStream stream;
    const auto world = make_nccl_world(hosts, stream.get());
    const auto group = world->everyone("dp");
    const DeviceMemory memory(1024);
    const std::string message = message_of([&] {
      group->run({.kind = Kind::Recv,  // nobody sends
                  .output = memory.data(),
                  .output_parts = contiguous_parts(8),
                  .name = "%w1 of layer.3, microbatch 0"});
    });
    EXPECT_TRUE(message.starts_with(
        "rank 0: recv %w1 of layer.3, microbatch 0 over dp={0}: NCCL: invalid usage"))
        << message;
  });
}

TEST_F(GpuNccl, APeerThatDoesNotJoinIsNotWaitedForLongerThanTheDeadline) {
  run_ranks(2, [](RankWorld& hosts) {
    if (hosts.rank() == 1) {  // hears of NCCL's id and does nothing with it
      std::vector<std::byte> id(128);
      const Parts parts = contiguous_parts(32);
      hosts.everyone("dp")->run({.kind = Kind::Broadcast,
                                 .dtype = DType::Int32,
                                 .input = id.data(),
                                 .input_parts = parts,
                                 .output = id.data(),
                                 .output_parts = parts,
                                 .name = "NCCL's id"});
      return;
    }
    const DeviceStream stream;
    const auto world = make_nccl_world(hosts, stream.get(), {.deadline_seconds = 0.5});
    EXPECT_EQ(message_of([&] { world->everyone("dp"); }),
              "rank 0: start NCCL, over dp={0,1}, took longer than 0.5 s: a peer is late, or lost");
  });
}

// Work of the GPU's that ends when it is told to.
class HeldStream {
 public:
  explicit HeldStream(const DeviceStream& stream) : stream_(stream) {
    const auto wait = [](void* held) {
      while (static_cast<std::atomic<bool>*>(held)->load())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    check_cuda(cudaLaunchHostFunc(stream.get(), wait, &held_), "hold the stream");
  }
  ~HeldStream() {
    held_ = false;
    cudaStreamSynchronize(stream_.get());
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

 private:
  const DeviceStream& stream_;
  std::atomic<bool> held_ = true;
};

TEST_F(GpuNccl, AStepThatDoesNotMoveEndsAtTheDeadline) {
  run_ranks(1, [](RankWorld& hosts) {
    const DeviceStream stream;
    const auto world = make_nccl_world(hosts, stream.get(), {.deadline_seconds = 3});
    const auto group = world->everyone("dp");
    const HeldStream held(stream);
    EXPECT_EQ(message_of([&] { world->await(stream.get()); }),
              "rank 0: in no collective: nothing has moved for 3 s: a peer is late, or lost");
    EXPECT_EQ(message_of([&] { group->run({}); }), "dp={0} was aborted");
  });
}

TEST_F(GpuNccl, ProgressNamesWhatHasBegunAndNotEnded) {
  const DeviceStream stream;
  NcclProgress progress;
  for (int i = 0; i < 20'000; ++i) {  // more than it remembers
    progress.begin(stream.get(), "another");
    progress.end(stream.get());
  }
  stream.wait();
  EXPECT_EQ(progress.unfinished(), "");
  const int64_t before = progress.state();
  progress.begin(stream.get(), "all_gather %w over dp={0,1}");
  {
    const HeldStream held(stream);
    progress.end(stream.get());
    while (progress.state() == before) std::this_thread::yield();
    EXPECT_EQ(progress.unfinished(), "all_gather %w over dp={0,1}");
  }
  EXPECT_EQ(progress.unfinished(), "");
}

}  // namespace
}  // namespace tessera
