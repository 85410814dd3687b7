// SPDX-License-Identifier: Apache-2.0
// A process of a job, with a GPU of its own; NCCL is between them.
#include <algorithm>
#include <cstdlib>

#include "comm/nccl/nccl_world.h"
#include "exec/cuda/cuda_device.h"
#include "exec/cuda/cuda_executor.h"

namespace tessera {
namespace {

// What the executor stands on, and so is made before it.
struct CudaJobLinks {
  CudaJobLinks(RankWorld& hosts, double deadline_seconds)
      : world(make_nccl_world(hosts, own_stream.get(), {.deadline_seconds = deadline_seconds})) {}
  DeviceStream own_stream;
  std::unique_ptr<NcclWorld> world;
};

class CudaJobRank : private CudaJobLinks, public CudaExecutor {
 public:
  CudaJobRank(Program program, RankWorld& hosts, ExecutorOptions options)
      : CudaJobLinks(hosts, options.deadline_seconds),
        CudaExecutor(std::move(program), std::move(options),
                     {.world = world.get(),
                      .stream = &own_stream,
                      .wait_for = [this](const DeviceStream& stream) {
                        check_cuda(world->await(stream.get()), "wait for the stream");
                      }}) {}
};

class CudaLinks : private CudaJobLinks, public DeviceLinks {
 public:
  explicit CudaLinks(RankWorld& hosts)
      : CudaJobLinks(hosts, kDeadlineSeconds), everyone_(world->everyone("all")) {}

  Communicator& everyone() override { return *everyone_; }
  std::byte* allocate(int64_t bytes) override {
    require_free_memory(bytes);
    return memory_.emplace_back(std::make_unique<DeviceMemory>(bytes))->data();
  }
  void await() const override { check_cuda(world->await(own_stream.get()), "wait for the stream"); }

 private:
  static constexpr double kDeadlineSeconds = 60;
  std::unique_ptr<Communicator> everyone_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
};

}  // namespace

std::unique_ptr<DeviceLinks> CudaDevice::make_links(RankWorld& hosts) const {
  return std::make_unique<CudaLinks>(hosts);
}

void CudaDevice::take_for_rank(int rank, std::span<const int> machines) const {
  // Each group has a stream. Streams that share a queue of the GPU's wait for each other, and then
  // perhaps for ever; eight queues are what CUDA takes unless told otherwise.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  if (const std::string why = why_missing(); !why.empty())
    throw user_error("rank {}: {}", rank, why).help("use --device cpu");
  const auto before = machines.first(static_cast<size_t>(rank));
  const int machine = machines[static_cast<size_t>(rank)];
  const auto own = static_cast<int>(std::ranges::count(before, machine));
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "count the GPUs");
  if (own >= count)
    throw user_error("rank {} is number {} of its machine, which has {} GPU{}", rank, own + 1,
                     count, count == 1 ? "" : "s")
        .help(
            "start a rank for each GPU; without mpirun, all ranks of a mesh share one GPU: "
            "tessera train --device cuda --mesh dp=2");
  check_cuda(cudaSetDevice(own), "take a GPU");
}

std::unique_ptr<RankExecutor> CudaDevice::make_rank(Program program, RankWorld& world,
                                                    ExecutorOptions options) const {
  return std::make_unique<CudaJobRank>(std::move(program), world, std::move(options));
}

}  // namespace tessera
