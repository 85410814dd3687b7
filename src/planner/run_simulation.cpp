// SPDX-License-Identifier: Apache-2.0
#include "planner/run_simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <vector>

#include "core/random.h"

namespace tessera {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Gaps between events that are independent of each other.
class Arrivals {
 public:
  Arrivals(uint64_t seed, std::string_view purpose, uint64_t run, double mean_seconds)
      : stream_(seed, purpose), next_(run << 32), mean_(mean_seconds) {}

  double gap() {
    return std::isinf(mean_) || mean_ <= 0 ? kNever
                                           : -mean_ * std::log1p(-stream_.uniform(next_++));
  }

 private:
  RandomStream stream_;
  uint64_t next_;
  double mean_;
};

// Work between restarts: stretches of steps, each with a checkpoint after it. `clock` are the
// seconds since the last restart at full speed.
struct Stretches {
  double work, stall, write;  // of one stretch

  double whole(double clock) const { return std::floor(clock / (work + stall)); }
  double worked(double clock) const {
    const double begun = clock - whole(clock) * (work + stall);
    return whole(clock) * work + std::min(begun, work);
  }
  // What a failure leaves.
  double durable(double clock) const {
    return std::max(0.0, whole(clock + stall - std::max(stall, write))) * work;
  }
  // When so much work is done; nothing is saved after the last step.
  double end(double remaining) const {
    return remaining + std::max(0.0, std::ceil(remaining / work) - 1) * stall;
  }
};

struct Slow {
  double until = 0, factor = 1;
  bool is_node = false;  // replaced at its end
};

class Player {
 public:
  Player(const WholeRun& run, const RunChoices& choices, uint64_t seed, uint64_t index)
      : run_(run),
        own_(run.conditions),
        stretches_{static_cast<double>(choices.save_every) * run.step_seconds, own_.stall_seconds,
                   own_.write_seconds},
        failures_(seed, "failures", index, run.seconds_between_failures()),
        slow_nodes_(seed, "slow_nodes", index, own_.slow_node.between_seconds / run.ranks),
        stragglers_(seed, "stragglers", index, own_.straggler.between_seconds / run.ranks),
        durations_(seed, "straggler_durations", index, own_.straggler.lasts_seconds),
        until_failure_(failures_.gap()),
        next_slow_node_(slow_nodes_.gap()),
        next_straggler_(stragglers_.gap()),
        next_planned_(own_.planned_seconds > 0 ? own_.planned_seconds : kNever),
        spares_(choices.spare_nodes) {}

  SimulatedRun play() {
    while (true) {
      const double factor = slow_factor();
      const double left = (stretches_.end(run_.work_seconds() - saved_) - clock_) * factor;
      const double quiet =
          std::min({until_failure_, next_slow_node_ - now_, next_straggler_ - now_,
                    next_planned_ - now_, next_slow_end() - now_, next_return() - now_});
      if (left <= quiet) {
        work_for(left, factor);
        book_work(run_.work_seconds() - saved_);
        return result_;
      }
      work_for(std::max(0.0, quiet), factor);
      meet();
    }
  }

 private:
  double slow_factor() const {
    double most = 1;
    for (const Slow& each : slow_) most = std::max(most, each.factor);
    return run_.away_factors.empty() ? most : most * run_.away_factors[away_];
  }

  // Of a node that the run goes on without.
  double next_return() const { return away_ > 0 ? repaired_.top() : kNever; }

  double next_slow_end() const {
    double first = kNever;
    for (const Slow& each : slow_) first = std::min(first, each.until);
    return first;
  }

  void spend(double seconds, LossKind kind) {
    now_ += seconds;
    result_.seconds = now_;
    result_.lost_seconds[static_cast<size_t>(kind)] += seconds;
  }

  void work_for(double seconds, double factor) {
    now_ += seconds;
    result_.seconds = now_;
    until_failure_ -= seconds;
    clock_ += seconds / factor;
    result_.lost_seconds[static_cast<size_t>(LossKind::Slow)] += seconds - seconds / factor;
  }

  // The clock is split into work that is kept, work that is lost, and stalls.
  void book_work(double kept) {
    const double worked = std::min(stretches_.worked(clock_), run_.work_seconds() - saved_);
    result_.lost_seconds[static_cast<size_t>(LossKind::Saving)] += clock_ - worked;
    result_.lost_seconds[static_cast<size_t>(LossKind::Repeated)] += worked - kept;
    saved_ += kept;
    clock_ = 0;
  }

  void meet() {
    if (until_failure_ <= 0) return fail();
    if (next_slow_node_ <= now_) {
      ++result_.slow_nodes;
      slow_.push_back({now_ + own_.slow_node.lasts_seconds, own_.slow_node.factor, true});
      next_slow_node_ = now_ + slow_nodes_.gap();
    }
    if (next_straggler_ <= now_) {
      ++result_.stragglers;
      slow_.push_back({now_ + durations_.gap(), own_.straggler.factor, false});
      next_straggler_ = now_ + stragglers_.gap();
    }
    if (next_slow_end() <= now_) end_slow();
    if (next_return() <= now_) {
      take_back();
      ++result_.planned;
      interrupt(false);
    }
    if (next_planned_ <= now_) {
      ++result_.planned;
      interrupt(false);
      next_planned_ = now_ + own_.planned_seconds;
    }
  }

  void end_slow() {
    const auto ended =
        std::ranges::min_element(slow_, {}, [](const Slow& each) { return each.until; });
    const bool is_node = ended->is_node;
    slow_.erase(ended);
    if (is_node) interrupt(true);
  }

  void fail() {
    book_work(std::min(stretches_.durable(clock_), run_.work_seconds() - saved_));
    ++result_.failures;
    until_failure_ = failures_.gap();
    replace_node();
    restart_after_failure();
  }

  // On purpose: what is done is saved first, and nothing is lost.
  void interrupt(bool replaces_node) {
    book_work(std::min(stretches_.worked(clock_), run_.work_seconds() - saved_));
    spend(std::max(own_.stall_seconds, own_.write_seconds), LossKind::Planned);
    if (replaces_node) replace_node();
    if (until_failure_ > own_.restart_seconds) {
      until_failure_ -= own_.restart_seconds;
      spend(own_.restart_seconds, LossKind::Planned);
      return;
    }
    spend(until_failure_, LossKind::Planned);
    ++result_.failures;
    until_failure_ = failures_.gap();
    replace_node();
    restart_after_failure();
  }

  // A failure while one is detected, or in the restart, begins both again.
  void restart_after_failure() {
    const double down = own_.detect_seconds + own_.restart_seconds;
    while (until_failure_ <= down) {
      be_down(until_failure_);
      ++result_.failures;
      until_failure_ = failures_.gap();
      replace_node();
    }
    until_failure_ -= down;
    be_down(down);
  }

  void be_down(double seconds) {
    const double detecting = std::min(seconds, own_.detect_seconds);
    spend(detecting, LossKind::Detecting);
    spend(seconds - detecting, LossKind::Restarting);
  }

  // Whoever is repaired takes the place of one that is missing, else it is a spare.
  void take_back() {
    while (!repaired_.empty() && repaired_.top() <= now_) {
      repaired_.pop();
      if (away_ > 0)
        --away_;
      else
        ++spares_;
    }
  }

  void replace_node() {
    take_back();
    repaired_.push(now_ + own_.repair_seconds);
    if (spares_ > 0) {
      --spares_;
      return;
    }
    if (away_ + 1 < run_.away_factors.size()) {
      ++away_;
      return;
    }
    spend(repaired_.top() - now_, LossKind::Waiting);
    repaired_.pop();
  }

  const WholeRun& run_;
  const RunConditions& own_;
  const Stretches stretches_;
  Arrivals failures_, slow_nodes_, stragglers_, durations_;
  double now_ = 0;
  double saved_ = 0, clock_ = 0;  // seconds of work that a restart begins with; since the last one
  double until_failure_;          // of time in which ranks are at work or restart
  double next_slow_node_, next_straggler_, next_planned_;
  int spares_;
  size_t away_ = 0;  // nodes that it goes on without
  std::priority_queue<double, std::vector<double>, std::greater<>> repaired_;
  std::vector<Slow> slow_;
  SimulatedRun result_;
};

}  // namespace

SimulatedRun simulate_run(const WholeRun& run, const RunChoices& choices, uint64_t seed,
                          uint64_t index) {
  return Player(run, choices, seed, index).play();
}

}  // namespace tessera
