// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_world.h"

#include <algorithm>

#include "comm/failure/peer_error.h"
#include "comm/nccl/nccl_communicator.h"
#include "comm/nccl/poll.h"

namespace tessera {
namespace {

class World : public NcclWorld {
 public:
  World(RankWorld& bootstrap, cudaStream_t compute, NcclOptions options)
      : bootstrap_(bootstrap), compute_(compute), options_(options) {}

  int rank() const override { return bootstrap_.rank(); }
  int size() const override { return bootstrap_.size(); }
  std::string machine() const override { return bootstrap_.machine(); }
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) override;
  cudaError_t await(cudaStream_t stream) const override;

  void forget(const NcclCommunicator* group) { std::erase(groups_, group); }

 private:
  [[noreturn]] void stop(const std::string& why) const;

  RankWorld& bootstrap_;
  cudaStream_t compute_;
  NcclOptions options_;
  std::vector<NcclCommunicator*> groups_;
};

// One that its world knows for as long as it lives.
class KnownCommunicator : public NcclCommunicator {
 public:
  template <typename... Arguments>
  explicit KnownCommunicator(World& world, Arguments&&... arguments)
      : NcclCommunicator(std::forward<Arguments>(arguments)...), world_(world) {}
  ~KnownCommunicator() override { world_.forget(this); }
  KnownCommunicator(const KnownCommunicator&) = delete;
  KnownCommunicator& operator=(const KnownCommunicator&) = delete;

 private:
  World& world_;
};

std::unique_ptr<Communicator> World::group(const std::vector<int>& ranks, std::string name) {
  auto made = std::make_unique<KnownCommunicator>(*this, bootstrap_.group(ranks, std::move(name)),
                                                  ranks, compute_, options_.deadline_seconds);
  groups_.push_back(made.get());
  return made;
}

cudaError_t World::await(cudaStream_t stream) const {
  std::string cause;
  cudaError_t status = cudaErrorNotReady;
  const bool ended = poll(
      options_.deadline_seconds,
      [&] {
        status = cudaStreamQuery(stream);
        for (const NcclCommunicator* each : groups_)
          if (const std::string text = each->failure(); !text.empty()) cause = text;
        return status != cudaErrorNotReady || !cause.empty();
      },
      [&] {
        uint64_t state = 0;
        for (const NcclCommunicator* each : groups_)
          state = 31 * state + static_cast<uint64_t>(each->progress());
        return state;
      });
  if (!cause.empty()) stop(cause);
  if (!ended)
    stop(fmt::format("nothing has moved for {} s: a peer is late, or lost",
                     options_.deadline_seconds));
  return status;
}

void World::stop(const std::string& why) const {
  std::string hanging;
  for (const NcclCommunicator* each : groups_)
    if (const std::string text = each->unfinished(); !text.empty())
      hanging += (hanging.empty() ? "" : "; ") + text;
  for (NcclCommunicator* each : groups_) each->abort();
  throw PeerError(rank(), fmt::format("rank {}: in {}: {}", rank(),
                                      hanging.empty() ? "no collective" : hanging, why));
}

}  // namespace

std::unique_ptr<NcclWorld> make_nccl_world(RankWorld& bootstrap, cudaStream_t compute,
                                           NcclOptions options) {
  return std::make_unique<World>(bootstrap, compute, options);
}

}  // namespace tessera
