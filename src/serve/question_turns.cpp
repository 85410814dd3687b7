// SPDX-License-Identifier: Apache-2.0
#include "serve/question_turns.h"

#include <chrono>

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kLookAgain{50};  // whether the client has gone

}  // namespace

std::shared_ptr<QuestionTurns::Turn> QuestionTurns::begin(std::string tab, std::string_view kind) {
  std::shared_ptr<Turn> turn(new Turn(*this, std::move(tab), kind));
  const std::lock_guard lock(mutex_);
  all_.insert(turn.get());
  if (ended_) turn->cancel();
  if (turn->name_.first.empty()) return turn;
  Turn*& newest = newest_[turn->name_];
  if (newest) newest->cancel();
  newest = turn.get();
  changed_.notify_all();
  return turn;
}

bool QuestionTurns::wait_for_core(Turn& turn, const std::function<bool()>& gone) {
  std::unique_lock lock(mutex_);
  while (free_ == 0 && !turn.cancelled() && !gone()) changed_.wait_for(lock, kLookAgain);
  if (free_ == 0 || turn.cancelled()) return false;
  --free_;
  turn.has_core_ = true;
  return true;
}

bool QuestionTurns::wait_to_be_alone(Turn& turn, const std::string& as, double seconds) {
  std::unique_lock lock(mutex_);
  const auto free = [&] { return !alone_.contains(as) || turn.cancelled(); };
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), free);
  if (turn.cancelled() || !alone_.insert(as).second) return false;
  turn.alone_as_ = as;
  return true;
}

void QuestionTurns::cancel_all() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (Turn* turn : all_) turn->cancel();
  changed_.notify_all();
}

void QuestionTurns::end(Turn& turn) {
  const std::lock_guard lock(mutex_);
  all_.erase(&turn);
  const auto newest = newest_.find(turn.name_);
  if (newest != newest_.end() && newest->second == &turn) newest_.erase(newest);
  if (turn.has_core_) ++free_;
  alone_.erase(turn.alone_as_);
  changed_.notify_all();
}

}  // namespace tessera
