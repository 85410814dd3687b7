// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <algorithm>
#include <atomic>
#include <queue>
#include <set>
#include <thread>

#include "planner/recipe.h"

namespace tessera {
namespace {

constexpr size_t kTogether = 4;  // trials between two looks at the queue, whatever the threads

// What may fit where the candidate does not, and would be no better where it does. It rebuilds
// more, or its activations leave; what is too large even so keeps more of its states on the host.
std::vector<Candidate> needing_less(const PlanTask& task, const Candidate& candidate) {
  std::vector<Candidate> less;
  const auto add = [&](auto&& change) {
    less.push_back(candidate);
    change(less.back());
  };
  const bool whole = candidate.recompute == RecomputeKind::None && !candidate.offload_activations;
  if (whole) add([](Candidate& c) { c.recompute = RecomputeKind::Fit; });
  if (candidate.recompute == RecomputeKind::Blocks && candidate.every == 1)
    add([](Candidate& c) { c.every = 0; });
  if (!task.tries_offload) return less;
  if (whole) add([](Candidate& c) { c.offload_activations = true; });
  if (candidate.recompute != RecomputeKind::Fit || candidate.updates_on_host ||
      candidate.offload_states == OffloadedStates::Parameters)
    return less;
  for (const bool on_host : {false, true})
    add([&](Candidate& c) {
      c.recompute = RecomputeKind::None;
      c.offload_states = static_cast<OffloadedStates>(static_cast<int>(c.offload_states) + 1);
      c.updates_on_host = on_host;
    });
  return less;
}

// How tight a floor is; each takes more work than the one before.
enum class FloorKind : uint8_t { First, Quick, Loose, Scheduled };

struct Waiting {
  Floor floor;
  FloorKind kind;
  Candidate candidate;

  bool operator>(const Waiting& other) const {
    return std::tie(floor.seconds, candidate) > std::tie(other.floor.seconds, other.candidate);
  }
};

class Search {
 public:
  Search(const PlanTask& task, const SearchOptions& options)
      : task_(task), options_(options), floors_(task, options.threads) {}

  bool cancelled() const { return stopped_; }

  // The rule of thumb first: the answer is never worse.
  void follow_recipe() {
    const Recipe recipe = make_recipe(task_, floors_.parameters());
    if (recipe.candidates.empty()) result_.recipe_problem = recipe.indivisible;
    for (const Candidate& candidate : recipe.candidates) {
      if (!is_asked_for(task_, candidate) || !fits(floors_.scheduled(candidate))) continue;
      const Trial trial = try_candidate(task_, {candidate}, watch());
      if (stopped_) return;
      add(trial);
      if (!trial.fits) continue;
      result_.recipe = trial;
      return;
    }
  }

  void enumerate_all() {
    Enumeration all = enumerate(task_, watch());
    result_.indivisible = std::move(all.dropped);
    if (options_.use_floors) floors_.prepare(all.possible, [this] { report(); });
    for (const Candidate& candidate : all.possible) {
      if (stopped_) return;
      consider(candidate);
      report();
    }
  }

  void run() {
    for (std::vector<Attempt> next = take_next(); !next.empty(); next = take_next()) {
      const auto trials = try_candidates(task_, next, options_.threads, watch());
      if (stopped_) return;
      for (const Trial& trial : trials) add(trial);
      report();
    }
    if (!queue_.empty() && is_open(queue_.top().floor.seconds))
      result_.floor_left_seconds = queue_.top().floor.seconds;
    result_.too_slow = static_cast<int64_t>(queue_.size());
  }

  SearchResult take() {
    result_.cancelled = stopped_;
    return std::move(result_);
  }

 private:
  size_t trials() const { return result_.ranked.size() + result_.dropped.size(); }
  bool fits(const Floor& floor) const {
    return floor.bytes <= static_cast<double>(task_.rank_memory_bytes());
  }
  // Could a plan with this floor be among those that are shown?
  bool is_open(double floor_seconds) const {
    return !options_.use_floors || result_.ranked.size() < kRankedPlans ||
           floor_seconds <= result_.ranked[kRankedPlans - 1].simulation.step_seconds;
  }

  void consider(const Candidate& candidate) {
    ++considered_;
    if (options_.use_floors)
      wait_or_drop(candidate, floors_.first(candidate), FloorKind::First);
    else
      queue_.push({{}, FloorKind::Scheduled, candidate});
  }

  void wait_or_drop(const Candidate& candidate, const Floor& floor, FloorKind kind) {
    if (fits(floor)) return queue_.push({floor, kind, candidate});
    ++result_.too_large;
    consider_more(candidate);
  }

  void consider_more(const Candidate& candidate) {
    for (const Candidate& less : needing_less(task_, candidate))
      if (is_asked_for(task_, less) && !why_not_divisible(task_, less)) consider(less);
  }

  // Those to simulate now. A floor that comes up for the first time is made tighter.
  std::vector<Attempt> take_next() {
    std::vector<Attempt> next;
    while (!stopped_ && !queue_.empty() && next.size() < kTogether &&
           is_open(queue_.top().floor.seconds) && trials() + next.size() < options_.most_trials) {
      const Waiting waiting = queue_.top();
      queue_.pop();
      report();
      if (tried_.contains(waiting.candidate)) continue;
      const Candidate& candidate = waiting.candidate;
      if (waiting.kind == FloorKind::Scheduled)
        next.push_back({candidate, waiting.floor.values});
      else if (waiting.kind == FloorKind::First)
        wait_or_drop(candidate, floors_.quick(candidate), FloorKind::Quick);
      else if (waiting.kind == FloorKind::Quick && candidate.recompute == RecomputeKind::Fit)
        wait_or_drop(candidate, floors_.loose(candidate), FloorKind::Loose);
      else
        wait_or_drop(candidate, floors_.scheduled(candidate), FloorKind::Scheduled);
    }
    return next;
  }

  void add(const Trial& trial) {
    if (!tried_.insert(trial.candidate).second) return;
    if (!trial.fits) {
      result_.dropped.push_back(trial);
      consider_more(trial.candidate);
      return;
    }
    const auto order = [](const Trial& a, const Trial& b) {
      return std::tie(a.simulation.step_seconds, a.candidate) <
             std::tie(b.simulation.step_seconds, b.candidate);
    };
    std::vector<Trial>& ranked = result_.ranked;
    ranked.insert(std::upper_bound(ranked.begin(), ranked.end(), trial, order), trial);
  }

  // Before each compilation; the thread that searches tells how far it is.
  Cancelled watch() {
    return [this] {
      if (std::this_thread::get_id() == thread_) report();
      return stopped_.load();
    };
  }

  void report() {
    if (!options_.progress || stopped_) return;
    const std::vector<Trial>& ranked = result_.ranked;
    stopped_ = !options_.progress({.considered = considered_,
                                   .simulated = trials(),
                                   .best_mfu = ranked.empty() ? 0 : ranked.front().simulation.mfu,
                                   .floor_seconds = queue_.empty() ? 0 : queue_.top().floor.seconds,
                                   .ranked = ranked});
  }

  const PlanTask& task_;
  const SearchOptions& options_;
  Floors floors_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue_;
  std::set<Candidate> tried_;
  size_t considered_ = 0;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> stopped_ = false;
  SearchResult result_;
};

}  // namespace

SearchResult search(const PlanTask& task, const SearchOptions& options) {
  check_precision(task.cluster, task.run.precision);
  Search search(task, options);
  search.follow_recipe();
  if (!search.cancelled()) search.enumerate_all();
  if (!search.cancelled()) search.run();
  SearchResult result = search.take();
  if (!result.ranked.empty() || result.cancelled || task.tries_offload || !task.cluster.host)
    return result;
  PlanTask offloading = task;
  offloading.tries_offload = true;
  return tessera::search(offloading, options);
}

}  // namespace tessera
