// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_engine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "comm/mpi/mpi_check.h"
#include "comm/peer_error.h"

namespace tessera {
namespace {

// Polls without news before the thread sleeps between them, so that more ranks than cores work. It
// never yields: on a busy machine that would cost a whole time slice.
constexpr int kEagerPolls = 50;
constexpr std::chrono::microseconds kSleep{20};
// A peer that has ended may have taken a message that MPI still reports as under way.
constexpr std::chrono::seconds kLateReceipt{1};

}  // namespace

MpiEngine::MpiEngine() : thread_([this] { work(); }) {
  std::unique_lock lock(mutex_);
  to_ranks_.wait(lock, [this] { return started_ || broken_; });
  if (!broken_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(broken_);
}

MpiEngine::~MpiEngine() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  to_engine_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void MpiEngine::begin_round(double deadline_seconds) {
  const std::lock_guard lock(mutex_);
  deadline_seconds_ = deadline_seconds;
  ++round_;
}

void MpiEngine::submit(MpiJob& job) {
  {
    const std::lock_guard lock(mutex_);
    job.active = true;
    job.finished = false;
    job.waited_since.reset();
    job.untaken_since.reset();
    job.error.clear();
    new_jobs_.push_back(&job);
  }
  to_engine_.notify_one();
}

void MpiEngine::wait(MpiJob& job) {
  std::unique_lock lock(mutex_);
  job.waited_since = Clock::now();
  to_ranks_.wait(lock, [&] { return job.finished || broken_; });
  if (!job.finished) std::rethrow_exception(broken_);
  job.active = false;
  if (!job.error.empty()) throw PeerError(job.guilty_rank, job.error);
}

void MpiEngine::bury(std::unique_ptr<MpiGroup> group, std::vector<std::unique_ptr<MpiJob>> jobs) {
  const std::lock_guard between_passes(pass_);
  const std::lock_guard lock(mutex_);
  buried_groups_.push_back(std::move(group));
  for (auto& job : jobs) {
    std::erase(new_jobs_, job.get());
    if (std::erase(jobs_, job.get()) > 0) job->operation.cancel();
    buried_jobs_.push_back(std::move(job));
  }
}

std::optional<MpiFailure> MpiEngine::failure() {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(round_);
  if (found == failures_.end()) return std::nullopt;
  return found->second;
}

void MpiEngine::announce(const std::optional<MpiFailure>& failure) {
  {
    const std::lock_guard lock(mutex_);
    Notice notice{.round = round_, .rank = rank_, .failed = failure.has_value()};
    if (failure) {
      failures_.try_emplace(round_, *failure);
      notice.guilty_rank = failure->guilty_rank;
      const size_t length = std::min(failure->text.size(), sizeof(notice.text) - 1);
      std::memcpy(notice.text, failure->text.data(), length);
    }
    to_announce_ = notice;
    ended_[static_cast<size_t>(rank_)] = round_;
  }
  to_engine_.notify_one();
}

bool MpiEngine::everyone_announced() const {
  return std::all_of(ended_.begin(), ended_.end(), [this](int round) { return round >= round_; });
}

void MpiEngine::await_announcements(double grace_seconds) {
  std::unique_lock lock(mutex_);
  listening_ = true;
  to_engine_.notify_one();
  std::optional<Clock::time_point> failed_at;
  while (!to_ranks_.wait_for(lock, std::chrono::milliseconds(20),
                             [this] { return everyone_announced() || broken_; })) {
    if (!failures_.contains(round_)) continue;
    if (!failed_at) failed_at = Clock::now();
    if (std::chrono::duration<double>(Clock::now() - *failed_at).count() < grace_seconds) continue;
    all_answer_ = false;
    break;
  }
  listening_ = false;
  if (broken_) std::rethrow_exception(broken_);
}

void MpiEngine::work() {
  try {
    start_mpi();
    int idle = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        to_engine_.wait(lock, [this] {
          return stop_ || listening_ || to_announce_ || !jobs_.empty() || !new_jobs_.empty();
        });
        // The others wait for this rank's last word.
        if (stop_ && !to_announce_) break;
      }
      if (pass()) {
        idle = 0;
      } else if (++idle > kEagerPolls) {
        std::this_thread::sleep_for(kSleep);
      }
    }
    stop_mpi();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    broken_ = std::current_exception();
    all_answer_ = false;
  }
  to_ranks_.notify_all();
}

// Tells whether anything happened.
bool MpiEngine::pass() {
  const std::lock_guard lock(pass_);
  take_new_jobs();
  const bool noticed = take_notices();
  return advance_all() || noticed;
}

void MpiEngine::start_mpi() {
  int provided = 0, flag = 0;
  setenv("OMPI_MCA_mpi_yield_when_idle", "0", /*overwrite=*/0);
  mpi_check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  mpi_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  mpi_check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  int* largest_tag = nullptr;
  mpi_check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest_tag, &flag),
            "MPI_Comm_get_attr");
  notice_tag_ = flag ? *largest_tag : 32767;
  post_notice_receive();
  const std::lock_guard lock(mutex_);
  ended_.assign(static_cast<size_t>(size_), -1);
  started_ = true;
  to_ranks_.notify_all();
}

// With a rank left behind, ending MPI would wait for it for ever.
void MpiEngine::stop_mpi() {
  if (!all_answer_) return;
  for (MpiJob* job : jobs_) job->operation.cancel();
  mpi_check(MPI_Cancel(&notice_request_), "MPI_Cancel");
  mpi_check(MPI_Request_free(&notice_request_), "MPI_Request_free");
  mpi_check(MPI_Finalize(), "MPI_Finalize");
}

void MpiEngine::take_new_jobs() {
  std::vector<MpiJob*> left_behind;
  std::optional<Notice> notice;
  size_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    // What an earlier round left behind is buried and will not be waited for.
    if (jobs_round_ != round_) std::swap(left_behind, jobs_);
    jobs_round_ = round_;
    first = jobs_.size();
    jobs_.insert(jobs_.end(), new_jobs_.begin(), new_jobs_.end());
    new_jobs_.clear();
    std::swap(notice, to_announce_);
  }
  for (MpiJob* job : left_behind) job->operation.cancel();
  for (; first < jobs_.size(); ++first) jobs_[first]->operation.begin();
  if (!notice) return;
  sent_notices_.push_back(std::make_unique<Notice>(*notice));
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    MPI_Request request;
    mpi_check(MPI_Isend(sent_notices_.back().get(), sizeof(Notice), MPI_BYTE, other, notice_tag_,
                        MPI_COMM_WORLD, &request),
              "MPI_Isend");
    mpi_check(MPI_Request_free(&request), "MPI_Request_free");
  }
}

void MpiEngine::post_notice_receive() {
  mpi_check(MPI_Irecv(&notice_in_, sizeof(Notice), MPI_BYTE, MPI_ANY_SOURCE, notice_tag_,
                      MPI_COMM_WORLD, &notice_request_),
            "MPI_Irecv");
}

bool MpiEngine::take_notices() {
  bool any = false;
  while (true) {
    int there = 0;
    mpi_check(MPI_Test(&notice_request_, &there, MPI_STATUS_IGNORE), "MPI_Test");
    if (!there) return any;
    any = true;
    {
      const std::lock_guard lock(mutex_);
      ended_[static_cast<size_t>(notice_in_.rank)] = notice_in_.round;
      if (notice_in_.failed)
        failures_.try_emplace(notice_in_.round,
                              MpiFailure{notice_in_.guilty_rank, notice_in_.text});
    }
    to_ranks_.notify_all();
    post_notice_receive();
  }
}

bool MpiEngine::advance_all() {
  bool moved = false;
  for (MpiJob*& job : jobs_) {
    const Step step = advance(*job);
    moved = moved || step != Step::None;
    // From here on its owner may use it again.
    if (step == Step::Last) job = nullptr;
  }
  if (moved) {
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), nullptr), jobs_.end());
    to_ranks_.notify_all();
  }
  return moved;
}

MpiEngine::Step MpiEngine::advance(MpiJob& job) {
  try {
    if (job.operation.advance()) {
      if (!job.operation.done()) return Step::Some;
      const std::lock_guard lock(mutex_);
      job.finished = true;
      return Step::Last;
    }
    check_peers(job);
    return Step::None;
  } catch (const PeerError& error) {
    give_up(job, error.guilty_rank(), error.what());
    return Step::Last;
  }
}

void MpiEngine::give_up(MpiJob& job, int guilty_rank, const std::string& text) {
  job.operation.cancel();
  const std::lock_guard lock(mutex_);
  failures_.try_emplace(round_, MpiFailure{guilty_rank, text});
  job.guilty_rank = guilty_rank;
  job.error = text;
  job.finished = true;
}

// Throws when the run has failed elsewhere, a peer has ended, or the deadline has passed.
void MpiEngine::check_peers(MpiJob& job) {
  MpiOperation& operation = job.operation;
  std::optional<Clock::time_point> since;
  std::optional<MpiFailure> failure;
  bool any_ended = false;
  {
    const std::lock_guard lock(mutex_);
    since = job.waited_since;
    const auto found = failures_.find(round_);
    if (found != failures_.end()) failure = found->second;
    for (const int rank : operation.group().ranks)
      any_ended = any_ended || (rank != rank_ && ended_[static_cast<size_t>(rank)] >= round_);
  }
  if (!since) return;
  if (failure)
    throw PeerError(failure->guilty_rank,
                    fmt::format("{}: stopped because rank {} failed: {}", operation.prefix(),
                                failure->guilty_rank, failure->text));
  const double waited = std::chrono::duration<double>(Clock::now() - *since).count();
  if (waited <= deadline_seconds_ && !any_ended) return;
  const MpiOperation::Missing missing = operation.missing();
  if (missing.member < 0) return;
  const int guilty = operation.group().ranks[static_cast<size_t>(missing.member)];
  const std::string whereabouts = operation.group().whereabouts(missing.member);
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    ended = ended_[static_cast<size_t>(guilty)] >= round_;
  }
  if (ended && !missing.message && !job.untaken_since) job.untaken_since = Clock::now();
  const bool may_be_taken =
      !missing.message && job.untaken_since && Clock::now() - *job.untaken_since < kLateReceipt;
  if (ended && operation.waits_for_headers() && !may_be_taken)
    throw PeerError(
        guilty, fmt::format("{}: rank {} has ended; {}", operation.prefix(), guilty, whereabouts));
  if (waited > deadline_seconds_)
    throw PeerError(guilty,
                    fmt::format("{}: no reply from rank {} for {:.3g} s; {}", operation.prefix(),
                                guilty, deadline_seconds_, whereabouts));
}

}  // namespace tessera
