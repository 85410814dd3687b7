// SPDX-License-Identifier: Apache-2.0
// The notices by which the ranks of a job tell each other that they have ended, why they failed,
// and at which step they are.
#include <algorithm>
#include <cstring>

#include "comm/failure/peer_error.h"
#include "comm/mpi/mpi_check.h"
#include "comm/mpi/mpi_engine.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kAskPause{300};  // between questions to a rank that is silent
// A process that lives answers at once. One that does not is waited for no longer than this when
// this one was told to end: srun does so when a rank has died, and kills much later.
constexpr std::chrono::seconds kSignOfLife{2};

}  // namespace

void MpiEngine::announce(const std::optional<MpiFailure>& failure) {
  {
    const std::lock_guard lock(mutex_);
    Notice notice{.round = round_, .rank = rank_, .failed = failure.has_value()};
    if (failure) {
      failures_.try_emplace(round_, *failure);
      notice.guilty_rank = failure->guilty_rank;
      notice.bad_input = failure->bad_input;
      const size_t length = std::min(failure->text.size(), sizeof(notice.text) - 1);
      std::memcpy(notice.text, failure->text.data(), length);
    }
    to_announce_ = notice;
    ended_[static_cast<size_t>(rank_)] = round_;
  }
  to_engine_.notify_one();
}

int MpiEngine::first_that_has_not_announced() const {
  const auto late =
      std::find_if(ended_.begin(), ended_.end(), [this](int round) { return round < round_; });
  return static_cast<int>(late - ended_.begin());
}

bool MpiEngine::everyone_announced() const { return first_that_has_not_announced() == size_; }

void MpiEngine::await_announcements(double grace_seconds) {
  std::unique_lock lock(mutex_);
  listening_ = true;
  to_engine_.notify_one();
  const Clock::time_point begin = Clock::now();
  std::optional<Clock::time_point> failed_at;
  while (!to_ranks_.wait_for(lock, std::chrono::milliseconds(20),
                             [this] { return everyone_announced() || broken_; })) {
    if (!failures_.contains(round_) && seconds_since(begin) > deadline_seconds_)
      failures_.emplace(round_, MpiFailure{first_that_has_not_announced(),
                                           fmt::format("it does not end, {:.3g} s after this one",
                                                       deadline_seconds_)});
    if (!failures_.contains(round_)) continue;
    if (!failed_at) failed_at = Clock::now();
    if (seconds_since(*failed_at) < grace_seconds) continue;
    all_answer_ = false;
    break;
  }
  listening_ = false;
  if (broken_) std::rethrow_exception(broken_);
}

void MpiEngine::send_notice(const Notice& notice, int to) {
  SentNotice& sent = sent_notices_.emplace_back();
  sent.notice = std::make_unique<Notice>(notice);
  mpi_check(MPI_Isend(sent.notice.get(), sizeof(Notice), MPI_BYTE, to, notice_tag_, MPI_COMM_WORLD,
                      &sent.request),
            "MPI_Isend");
}

void MpiEngine::drop_taken_notices() {
  std::erase_if(sent_notices_, [](SentNotice& sent) {
    int taken = 0;
    mpi_check(MPI_Test(&sent.request, &taken, MPI_STATUS_IGNORE), "MPI_Test");
    return taken != 0;
  });
}

void MpiEngine::post_notice_receive() {
  mpi_check(MPI_Irecv(&notice_in_, sizeof(Notice), MPI_BYTE, MPI_ANY_SOURCE, notice_tag_,
                      MPI_COMM_WORLD, &notice_request_),
            "MPI_Irecv");
}

bool MpiEngine::take_notices() {
  drop_taken_notices();
  bool any = false;
  while (true) {
    int there = 0;
    mpi_check(MPI_Test(&notice_request_, &there, MPI_STATUS_IGNORE), "MPI_Test");
    if (!there) return any;
    any = true;
    take_notice(notice_in_);
    post_notice_receive();
  }
}

void MpiEngine::take_notice(const Notice& notice) {
  if (notice.kind == NoticeKind::Ask)
    return send_notice({.kind = NoticeKind::Answer,
                        .round = notice.round,
                        .rank = rank_,
                        .step = steps_.step,
                        .begun = notice.round == round_ ? steps_.begun.load() : 0},
                       notice.rank);
  if (notice.kind == NoticeKind::Answer) {
    answers_[static_cast<size_t>(notice.rank)] = {notice.round, notice.step, notice.begun, {}};
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ended_[static_cast<size_t>(notice.rank)] = notice.round;
    if (notice.failed)
      failures_.try_emplace(notice.round,
                            MpiFailure{notice.guilty_rank, notice.text, notice.bad_input != 0});
  }
  to_ranks_.notify_all();
}

// Asks a rank that is silent for its steps.
void MpiEngine::ask(MpiJob& job, int silent) {
  if (job.looked_at - job.asked_at < kAskPause) return;
  job.asked_at = job.looked_at;
  Answer& answer = answers_[static_cast<size_t>(silent)];
  if (!answer.awaited_since) answer.awaited_since = job.asked_at;
  send_notice({.kind = NoticeKind::Ask, .round = round_, .rank = rank_}, silent);
}

// Throws when it has gone on to a later step, or gives no answer although all are to end.
void MpiEngine::check_answer(const MpiJob& job, const MpiOperation::Missing& missing, int silent) {
  const Answer& answer = answers_[static_cast<size_t>(silent)];
  if (job.in_step && missing.message && job.operation.waits_for_headers() &&
      answer.round == round_ && answer.begun > steps_.begun)
    throw PeerError(silent, fmt::format("{}: {}", job.operation.prefix(),
                                        left_out_text(silent, answer.step, steps_.step)));
  if (answer.awaited_since && job.looked_at - *answer.awaited_since > kSignOfLife && told_to_end_ &&
      told_to_end_())
    throw PeerError(silent,
                    fmt::format("{}: told to end, and no sign of life from rank {} for {} s",
                                job.operation.prefix(), silent, kSignOfLife.count()));
}

}  // namespace tessera
