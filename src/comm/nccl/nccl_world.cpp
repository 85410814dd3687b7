// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_world.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "comm/failure/collective_record.h"
#include "comm/failure/job_failures.h"
#include "comm/nccl/nccl_communicator.h"
#include "comm/nccl/poll.h"

namespace tessera {
namespace {

class World : public NcclWorld {
 public:
  World(RankWorld& bootstrap, cudaStream_t compute, NcclOptions options)
      : bootstrap_(bootstrap),
        job_(dynamic_cast<JobFailures*>(&bootstrap)),
        compute_(compute),
        options_(options) {
    if (job_) job_->also_report([this](RankReport& report) { add_waits(report); });
  }
  ~World() override {
    if (job_ && !stopped_) job_->also_report({});
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const override { return bootstrap_.rank(); }
  int size() const override { return bootstrap_.size(); }
  std::string machine() const override { return bootstrap_.machine(); }
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) override;
  cudaError_t await(cudaStream_t stream) const override;

  void forget(const NcclCommunicator* group) {
    const std::lock_guard lock(mutex_);
    std::erase(groups_, group);
  }

 private:
  [[noreturn]] void stop(const std::string& why, int guilty) const;
  void add_waits(RankReport& report) const;

  RankWorld& bootstrap_;
  JobFailures* job_;  // null: nobody reports for this rank
  cudaStream_t compute_;
  NcclOptions options_;
  mutable std::mutex mutex_;  // of the groups
  std::vector<NcclCommunicator*> groups_;
  mutable std::atomic<int64_t> moved_ns_ = steady_now_ns();  // when something moved last
  mutable bool stopped_ = false;
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
  const std::lock_guard lock(mutex_);
  groups_.push_back(made.get());
  return made;
}

// For whom of a group is not known: for all its other members, of which the one to blame waits for
// nobody.
void World::add_waits(RankReport& report) const {
  const std::lock_guard lock(mutex_);
  const double seconds = static_cast<double>(steady_now_ns() - moved_ns_) * 1e-9;
  for (const NcclCommunicator* each : groups_) {
    const std::string title = each->unfinished();
    if (title.empty()) continue;
    report.where = "in " + title;
    report.last.insert(report.last.begin(), title + ": begun by the GPU, in flight");
    for (const int member : each->ranks())
      if (member != rank())
        report.waits.push_back({.rank = member, .in = title, .seconds = seconds});
  }
}

cudaError_t World::await(cudaStream_t stream) const {
  std::string cause;
  int guilty = rank();
  uint64_t last_state = 0;
  moved_ns_ = steady_now_ns();
  cudaError_t status = cudaErrorNotReady;
  const bool ended = poll(
      options_.deadline_seconds,
      [&] {
        status = cudaStreamQuery(stream);
        for (const NcclCommunicator* each : groups_)
          if (const std::string text = each->failure(); !text.empty()) cause = text;
        if (const auto told = job_ ? job_->told_of_failure() : std::nullopt) {
          cause = told->what();
          guilty = told->guilty_rank();
        }
        return status != cudaErrorNotReady || !cause.empty();
      },
      [&] {
        uint64_t state = 0;
        for (const NcclCommunicator* each : groups_)
          state = 31 * state + static_cast<uint64_t>(each->progress());
        if (state != last_state) moved_ns_ = steady_now_ns();
        return last_state = state;
      });
  if (!cause.empty()) stop(cause, guilty);
  if (!ended)
    stop(fmt::format("nothing has moved for {} s: a peer is late, or lost",
                     options_.deadline_seconds),
         guilty);
  return status;
}

// What hangs is kept for the report, which is written when this world is gone.
void World::stop(const std::string& why, int guilty) const {
  std::string hanging;
  for (const NcclCommunicator* each : groups_)
    if (const std::string text = each->unfinished(); !text.empty())
      hanging += (hanging.empty() ? "" : "; ") + text;
  if (job_) {
    RankReport last;
    add_waits(last);
    stopped_ = true;
    job_->also_report([last](RankReport& report) {
      if (!last.where.empty()) report.where = last.where;
      report.waits.insert(report.waits.end(), last.waits.begin(), last.waits.end());
      report.last.insert(report.last.begin(), last.last.begin(), last.last.end());
    });
  }
  for (NcclCommunicator* each : groups_) each->abort();
  throw PeerError(guilty, fmt::format("rank {}: in {}: {}", rank(),
                                      hanging.empty() ? "no collective" : hanging, why));
}

}  // namespace

std::unique_ptr<NcclWorld> make_nccl_world(RankWorld& bootstrap, cudaStream_t compute,
                                           NcclOptions options) {
  return std::make_unique<World>(bootstrap, compute, options);
}

}  // namespace tessera
