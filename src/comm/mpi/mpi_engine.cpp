// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_engine.h"

#include <algorithm>
#include <cstdlib>

#include "comm/failure/peer_error.h"
#include "comm/mpi/mpi_check.h"
#include "system/threads.h"

namespace tessera {
namespace {

// Polls without news before the thread sleeps between them, so that more ranks than cores work. It
// never yields: on a busy machine that would cost a whole time slice.
constexpr int kEagerPolls = 50;
constexpr std::chrono::microseconds kSleep{20};
// A peer that has ended may have taken a message that MPI still reports as under way.
constexpr std::chrono::seconds kLateReceipt{1};
// How often a thread without work looks for notices.
constexpr std::chrono::milliseconds kNoticePause{100};
// How often it is looked whom a wait is for; those that end sooner cost nothing.
constexpr std::chrono::milliseconds kLookPause{10};

}  // namespace

MpiEngine::MpiEngine() : thread_(start_thread([this] { work(); })) {
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

void MpiEngine::begin_round(double deadline_seconds, std::function<bool()> told_to_end) {
  const std::lock_guard lock(mutex_);
  deadline_seconds_ = deadline_seconds;
  told_to_end_ = std::move(told_to_end);
  steps_.step = -1;
  steps_.begun = 0;
  step_thread_ = std::thread::id{};
  ++round_;
}

void MpiEngine::at_step(int64_t step) {
  steps_.begin(step);
  step_thread_ = std::this_thread::get_id();
}

void MpiEngine::submit(MpiJob& job) {
  {
    const std::lock_guard lock(mutex_);
    job.finished = false;
    job.waited_since.reset();
    job.untaken_since.reset();
    job.looked_at = job.asked_at = Clock::now();
    job.seen_missing = -1;
    job.error.clear();
    new_jobs_.push_back(&job);
  }
  to_engine_.notify_one();
}

void MpiEngine::wait(MpiJob& job) {
  std::unique_lock lock(mutex_);
  job.waited_since = Clock::now();
  job.in_step = step_thread_.load() == std::this_thread::get_id();
  to_ranks_.wait(lock, [&] { return job.finished || broken_; });
  if (!job.finished) std::rethrow_exception(broken_);
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

void MpiEngine::work() {
  try {
    start_mpi();
    int idle = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        to_engine_.wait_for(lock, kNoticePause, [this] {
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
  answers_.resize(static_cast<size_t>(size_));
  started_ = true;
  to_ranks_.notify_all();
}

// With a rank that does not answer, ending MPI would wait for ever.
void MpiEngine::stop_mpi() {
  if (!all_answer_) return;
  for (MpiJob* job : jobs_) job->operation.cancel();
  for (SentNotice& sent : sent_notices_)
    mpi_check(MPI_Request_free(&sent.request), "MPI_Request_free");
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
    // Jobs of an earlier round are dropped: nobody will wait for them.
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
  for (int other = 0; other < size_; ++other)
    if (other != rank_) send_notice(*notice, other);
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

// Puts into the record whom the job waits for.
MpiOperation::Missing MpiEngine::look_at_wait(MpiJob& job) {
  job.looked_at = Clock::now();
  const MpiOperation::Missing missing = job.operation.missing();
  if (missing.member >= 0 && missing.member != job.seen_missing) {
    job.seen_missing = missing.member;
    record_.wait_for(job.record, job.operation.group().ranks[static_cast<size_t>(missing.member)]);
  }
  return missing;
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
  if (failure || Clock::now() - job.looked_at > kLookPause) {
    const MpiOperation::Missing missing = look_at_wait(job);
    if (!failure && missing.member >= 0) {
      const int silent = operation.group().ranks[static_cast<size_t>(missing.member)];
      ask(job, silent);
      check_answer(job, missing, silent);
    }
  }
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
