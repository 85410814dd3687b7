// SPDX-License-Identifier: Apache-2.0
// The communication thread of a process: the only one that calls MPI. Ranks hand it operations and
// wait for them; it also carries the notices by which ranks tell each other that they have ended or
// why they failed. A job is run in rounds (MpiProcess::run), which never mix.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "comm/failure/collective_record.h"
#include "comm/mpi/mpi_operation.h"
#include "comm/step_count.h"

namespace tessera {

// An operation and how far it is. What follows it is guarded by the engine's mutex.
struct MpiJob {
  explicit MpiJob(const MpiGroup& group) : operation(group) {}

  MpiOperation operation;
  bool finished = false;
  std::optional<std::chrono::steady_clock::time_point> waited_since;
  // Only messages to a peer that has ended are under way.
  std::optional<std::chrono::steady_clock::time_point> untaken_since;
  bool in_step = false;  // the thread of the steps waits for it
  int64_t record = 0;    // its entry
  // When it was last looked whom it waits for, when that one was last asked, and who it is.
  std::chrono::steady_clock::time_point looked_at{}, asked_at{};
  int seen_missing = -1;
  int guilty_rank = -1;  // when it failed
  std::string error;
};

struct MpiFailure {
  int guilty_rank;
  std::string text;
  bool bad_input = false;  // what the ranks were given is wrong, not a rank
};

class MpiEngine {
 public:
  MpiEngine();
  ~MpiEngine();
  MpiEngine(const MpiEngine&) = delete;
  MpiEngine& operator=(const MpiEngine&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  CollectiveRecord& record() { return record_; }
  const StepCount& steps() const { return steps_; }
  void at_step(int64_t step);  // by one thread, which waits for what belongs to steps

  void begin_round(double deadline_seconds, std::function<bool()> told_to_end);
  int round() const { return round_; }
  void submit(MpiJob& job);
  void wait(MpiJob& job);  // throws PeerError
  // Stops the operations of a group that is given up with some in flight, whose buffers may go with
  // it, and keeps what MPI may still use.
  void bury(std::unique_ptr<MpiGroup> group, std::vector<std::unique_ptr<MpiJob>> jobs);

  std::optional<MpiFailure> failure();
  // Tells all ranks that this one has ended its round, or why it failed.
  void announce(const std::optional<MpiFailure>& failure);
  // Waits until all ranks have announced the end of this round; not longer than `grace_seconds`
  // once one has failed, which is also one that takes longer than the deadline to follow this rank.
  void await_announcements(double grace_seconds);
  bool all_ranks_answer() const { return all_answer_; }

 private:
  using Clock = std::chrono::steady_clock;
  // `Ask` is answered with the steps of the rank that gets it.
  enum class NoticeKind : int32_t { End, Ask, Answer };
  struct Notice {
    NoticeKind kind = NoticeKind::End;
    int32_t round = 0, rank = 0, guilty_rank = 0, failed = 0, bad_input = 0;
    int64_t step = -1, begun = 0;
    char text[2048] = {};
  };
  struct SentNotice {
    std::unique_ptr<Notice> notice;  // until it was taken
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void work();
  void start_mpi();
  void stop_mpi();
  bool pass();
  void take_new_jobs();
  bool advance_all();
  enum class Step { None, Some, Last };
  Step advance(MpiJob& job);
  void give_up(MpiJob& job, int guilty_rank, const std::string& text);
  void check_peers(MpiJob& job);
  MpiOperation::Missing look_at_wait(MpiJob& job);
  void ask(MpiJob& job, int silent);
  void check_answer(const MpiJob& job, const MpiOperation::Missing& missing, int silent);
  void send_notice(const Notice& notice, int to);
  void drop_taken_notices();
  void take_notice(const Notice& notice);
  void post_notice_receive();
  bool take_notices();
  bool everyone_announced() const;
  int first_that_has_not_announced() const;

  int rank_ = 0, size_ = 1, notice_tag_ = 0;
  std::mutex pass_;  // held while the thread looks at its jobs; taken before the other
  std::mutex mutex_;
  std::condition_variable to_engine_, to_ranks_;
  bool started_ = false, stop_ = false, listening_ = false;
  std::exception_ptr broken_;  // MPI itself failed
  std::atomic<int> round_{-1};
  double deadline_seconds_ = 0;
  std::vector<MpiJob*> new_jobs_;
  std::vector<MpiJob*> jobs_;  // the thread's own
  int jobs_round_ = -1;
  std::vector<std::unique_ptr<MpiGroup>> buried_groups_;
  std::vector<std::unique_ptr<MpiJob>> buried_jobs_;
  std::map<int, MpiFailure> failures_;  // the first of each round
  std::vector<int> ended_;              // per rank: the last round it has announced the end of
  std::optional<Notice> to_announce_;
  std::vector<SentNotice> sent_notices_;
  Notice notice_in_;
  MPI_Request notice_request_ = MPI_REQUEST_NULL;
  std::atomic<bool> all_answer_{true};
  CollectiveRecord record_;
  StepCount steps_;
  std::atomic<std::thread::id> step_thread_{};
  struct Answer {
    int32_t round = -1;
    int64_t step = -1, begun = 0;
    std::optional<Clock::time_point> awaited_since;
  };
  std::vector<Answer> answers_;  // the last of each rank
  std::function<bool()> told_to_end_;
  std::thread thread_;
};

}  // namespace tessera
