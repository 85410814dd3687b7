// SPDX-License-Identifier: Apache-2.0
// put_rows and take_rows on one GPU, bit by bit against threads on the CPU: among ranks that share
// it, at once and recorded, and packed into messages, as ranks with a GPU each send them.
#include <gtest/gtest.h>

#include "comm/local/run_ranks.h"
#include "comm/row_moves.h"
#include "comm/testing/row_loads.h"
#include "exec/cuda/device_graph.h"
#include "exec/cuda/device_hub.h"
#include "exec/device.h"

namespace tessera {
namespace {

using Bytes = std::vector<std::byte>;

struct GpuRowCase {
  RowCase rows;
  int ranks;
  DType dtype;
  CollectiveKind kind;

  std::string title() const {
    return fmt::format("{}_of_{}_ranks_{}_{}", rows.name, ranks, name(dtype), name(kind));
  }
};

std::vector<GpuRowCase> gpu_row_cases() {
  std::vector<GpuRowCase> all;
  for (const int ranks : {2, 3, 4})
    for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16})
      for (const CollectiveKind kind : {CollectiveKind::PutRows, CollectiveKind::TakeRows}) {
        for (const RowCase& rows : row_cases()) all.push_back({rows, ranks, dtype, kind});
        all.push_back({hot_rows(ranks), ranks, dtype, kind});
      }
  return all;
}

// What every rank has: the table, an input of any bytes, an output of sevens.
class HostRows {
 public:
  explicit HostRows(const GpuRowCase& c)
      : c_(c), loads_(c.rows, c.ranks), ends_(loads_.ends()), inputs_(), outputs_() {
    const RandomStream random(7, c.rows.name);
    for (int rank = 0; rank < c.ranks; ++rank) {
      inputs_.emplace_back(static_cast<size_t>(bytes()));
      outputs_.emplace_back(static_cast<size_t>(bytes()), std::byte{7});
      for (int64_t i = 0; i < bytes(); ++i)
        inputs_.back()[static_cast<size_t>(i)] =
            static_cast<std::byte>(random.bits(static_cast<uint64_t>(rank * bytes() + i)));
    }
  }

  int64_t elements() const { return loads_.room() * c_.rows.columns; }
  int64_t bytes() const { return elements() * size_bytes(c_.dtype); }
  const std::vector<int32_t>& ends() const { return ends_; }
  const Bytes& input(int rank) const { return inputs_[static_cast<size_t>(rank)]; }
  const Bytes& untouched() const { return outputs_.front(); }

  Collective collective(const int32_t* ends, const std::byte* input, std::byte* output) const {
    return {.kind = c_.kind,
            .dtype = c_.dtype,
            .input = input,
            .input_parts = contiguous_parts(elements()),
            .output = output,
            .output_parts = contiguous_parts(elements()),
            .table = {.ends = ends, .experts = loads_.experts(), .rows = loads_.room()},
            .name = "rows"};
  }

  // By threads.
  std::vector<Bytes> moved() const {
    std::vector<Bytes> outputs = outputs_;
    run_ranks(c_.ranks, [&](RankWorld& world) {
      const auto rank = static_cast<size_t>(world.rank());
      world.everyone("ep")->run(
          collective(ends_.data(), inputs_[rank].data(), outputs[rank].data()));
    });
    return outputs;
  }

 private:
  GpuRowCase c_;
  RowLoads loads_;
  std::vector<int32_t> ends_;
  std::vector<Bytes> inputs_, outputs_;
};

// The same in memory of the GPU.
class GpuRows {
 public:
  explicit GpuRows(const HostRows& host, int ranks) : host_(host) {
    for (int rank = 0; rank < ranks; ++rank) {
      ends_.push_back(std::make_unique<DeviceMemory>(
          static_cast<int64_t>(host.ends().size() * sizeof(int32_t))));
      inputs_.push_back(std::make_unique<DeviceMemory>(host.bytes()));
      outputs_.push_back(std::make_unique<DeviceMemory>(host.bytes()));
      inputs_.back()->fill(host.input(rank));
    }
    set_ends(host);
    clear();
  }

  void set_ends(const HostRows& from) const {
    for (const auto& each : ends_) each->fill(std::as_bytes(std::span(from.ends())));
  }
  void clear() const {
    for (const auto& each : outputs_) each->fill(host_.untouched());
  }
  std::byte* output(int rank) const { return outputs_[static_cast<size_t>(rank)]->data(); }
  Collective collective(int rank) const {
    const auto index = static_cast<size_t>(rank);
    return host_.collective(reinterpret_cast<const int32_t*>(ends_[index]->data()),
                            inputs_[index]->data(), outputs_[index]->data());
  }
  std::vector<Bytes> outputs() const {
    check_cuda(cudaDeviceSynchronize(), "wait");
    std::vector<Bytes> all;
    for (const auto& each : outputs_) {
      all.emplace_back(static_cast<size_t>(each->bytes()));
      check_cuda(
          cudaMemcpy(all.back().data(), each->data(), all.back().size(), cudaMemcpyDeviceToHost),
          "read");
    }
    return all;
  }

 private:
  const HostRows& host_;
  std::vector<std::unique_ptr<DeviceMemory>> ends_, inputs_, outputs_;
};

// Ranks that share the GPU start it and wait for it, all on the first one's stream in the end.
class SharingRanks {
 public:
  explicit SharingRanks(int ranks) : hub_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) groups_.push_back(hub_.world(rank).everyone("ep"));
  }
  const DeviceStream& stream() const { return hub_.stream(0); }

  void run(const GpuRows& rows) {
    const auto ranks = static_cast<int>(groups_.size());
    std::vector<Ticket> tickets;
    joint_.record(stream());
    for (int rank = 0; rank < ranks; ++rank) {
      hold_back(hub_.stream(rank), joint_);
      tickets.push_back(groups_[static_cast<size_t>(rank)]->start(rows.collective(rank)));
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const auto index = static_cast<size_t>(rank);
      groups_[index]->wait(tickets[index]);
      joint_.record(hub_.stream(rank));
      hold_back(stream(), joint_);
    }
  }

 private:
  DeviceHub hub_;
  DeviceEvent joint_;
  std::vector<std::unique_ptr<Communicator>> groups_;
};

class GpuRowMove : public testing::TestWithParam<GpuRowCase> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(GpuRowMove, GivesTheBitsOfThreads) {
  const HostRows host(GetParam());
  const GpuRows rows(host, GetParam().ranks);
  SharingRanks ranks(GetParam().ranks);
  ranks.run(rows);
  EXPECT_TRUE(rows.outputs() == host.moved());
}

// How many rows there are is not known when the step is recorded.
TEST_P(GpuRowMove, ReadsTheTableWhenARecordedStepRuns) {
  const GpuRowCase& c = GetParam();
  const HostRows host(c);
  GpuRowCase empty = c;
  empty.rows.most = 0;
  empty.rows.room = host.elements() / c.rows.columns;
  const HostRows nothing(empty);
  const GpuRows rows(host, c.ranks);
  rows.set_ends(nothing);
  SharingRanks ranks(c.ranks);
  DeviceGraph graph;
  graph.record(ranks.stream(), [&] { ranks.run(rows); });
  graph.launch(ranks.stream());
  EXPECT_TRUE(rows.outputs() == std::vector<Bytes>(static_cast<size_t>(c.ranks), host.untouched()));
  rows.set_ends(host);
  graph.launch(ranks.stream());
  EXPECT_TRUE(rows.outputs() == host.moved());
}

TEST_P(GpuRowMove, GivesTheBitsOfThreadsWhenPackedIntoMessages) {
  const GpuRowCase& c = GetParam();
  const HostRows host(c);
  const GpuRows rows(host, c.ranks);
  const DeviceStream stream;
  const DeviceMemory message(host.bytes());
  const int64_t most = host.elements() / c.rows.columns;
  for (int from = 0; from < c.ranks; ++from)
    for (int to = 0; to < c.ranks; ++to) {
      const Collective sent = rows.collective(from), received = rows.collective(to);
      const auto moved = [&](const Collective& own) {
        return moved_rows(header_of(own, 0), own.table, c.ranks, from, to);
      };
      enqueue_row_packing(moved(sent), sent.input, message.data(), most, stream.get());
      enqueue_row_unpacking(moved(received), message.data(), rows.output(to), most, stream.get());
    }
  check_cuda(cudaGetLastError(), "move rows");
  EXPECT_TRUE(rows.outputs() == host.moved());
}

INSTANTIATE_TEST_SUITE_P(GpuRows, GpuRowMove, testing::ValuesIn(gpu_row_cases()),
                         [](const auto& instance) { return instance.param.title(); });

}  // namespace
}  // namespace tessera
