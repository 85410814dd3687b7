// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: a newer question of the same tab cancels the older one of the same kind, as
// many questions are answered at once as there are cores, and those that run alone one at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

class QuestionTurns {
 public:
  explicit QuestionTurns(int at_once) : free_(at_once) {}

  class Turn {
   public:
    ~Turn() { turns_->end(*this); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    bool cancelled() const { return cancelled_; }
    void cancel() { cancelled_ = true; }

   private:
    friend class QuestionTurns;
    Turn(QuestionTurns& turns, std::string tab, std::string_view kind)
        : turns_(&turns), name_(std::move(tab), kind) {}

    QuestionTurns* turns_;
    std::pair<std::string, std::string> name_;
    std::atomic<bool> cancelled_ = false;
    bool has_core_ = false;
    std::string alone_as_;  // empty: it is not alone
  };

  // Cancels the question of the same tab and kind; a question without a tab cancels none.
  std::shared_ptr<Turn> begin(std::string tab, std::string_view kind);
  // Waits until there is a free core, or `gone` says so; false then, and where it was cancelled.
  bool wait_for_core(Turn& turn, const std::function<bool()>& gone);
  // Waits at most `seconds` for the question that runs alone as that now; false where it is not
  // over.
  bool wait_to_be_alone(Turn& turn, const std::string& as, double seconds);
  // Every question, now and later: the server ends.
  void cancel_all();

 private:
  void end(Turn& turn);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::string, std::string>, Turn*> newest_;
  std::set<Turn*> all_;
  int free_;
  std::set<std::string> alone_;
  bool ended_ = false;
};

}  // namespace tessera
