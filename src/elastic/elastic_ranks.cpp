// SPDX-License-Identifier: Apache-2.0
#include "elastic/elastic_ranks.h"

#include <algorithm>

#include "mesh/mesh.h"
#include "system/say.h"

namespace tessera {
namespace {

std::string ranks_text(int ranks) { return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"); }

ElasticPlan given_plan(const Config& config) {
  const Mesh mesh(config.mesh);
  return {.ranks = mesh.num_ranks(), .mesh = to_string(mesh)};
}

std::string described(const ElasticPlan& plan) {
  if (plan.text.empty()) return "mesh " + plan.mesh;
  return fmt::format("{} (predicted {:.3g} s a step)", plan.text, plan.step_seconds);
}

}  // namespace

ElasticRanks::ElasticRanks(const Config& config, RankSource source, bool is_launched, Clock clock)
    : policy_(config.elastic),
      source_(std::move(source)),
      clock_(std::move(clock)),
      given_(given_plan(config)),
      plan_(given_),
      most_ranks_(policy_.most_ranks > 0 ? static_cast<int>(policy_.most_ranks) : given_.ranks) {
  if (is_on()) plans_ = std::make_unique<BestPlans>(config, is_launched);
  seen_.ranks = most_ranks_;
}

// Where nobody says which ranks are there, all of them are.
AvailableRanks ElasticRanks::look() {
  const Moment now = clock_();
  if (looked_at_ && now - *looked_at_ < std::chrono::duration<double>(source_.pause_seconds()))
    return seen_;
  looked_at_ = now;
  AvailableRanks found = source_.look().value_or(AvailableRanks{.ranks = most_ranks_});
  if (untrusted_from_ && found.ranks != *untrusted_from_) untrusted_from_.reset();
  if (untrusted_from_) found.ranks = std::min(found.ranks, trusted_);
  seen_ = std::move(found);
  return seen_;
}

std::optional<ElasticPlan> ElasticRanks::plan_for(int available) {
  const int usable = std::min(available, most_ranks_);
  if (usable == given_.ranks || !plans_) return given_;
  return plans_->on(usable, static_cast<int>(policy_.least_ranks));
}

// Seconds since as many ranks have been there as now, if they are not those that are used.
double ElasticRanks::seconds_away(bool away) {
  if (!away) {
    changed_at_.reset();
    return 0;
  }
  if (!changed_at_ || changed_to_ != seen_.ranks) changed_at_ = clock_();
  changed_to_ = seen_.ranks;
  return std::chrono::duration<double>(clock_() - *changed_at_).count();
}

void ElasticRanks::adopt(const ElasticPlan& plan, int available) {
  const bool same = plan.mesh == plan_.mesh && plan.text == plan_.text;
  if (!same)
    say(stderr, "supervisor: {} of {} there: {}on {} instead of {}: {}\n", available,
        ranks_text(most_ranks_), started_ ? "continuing " : "", ranks_text(plan.ranks), plan_.ranks,
        described(plan));
  plan_ = plan;
  available_at_start_ = std::min(available, most_ranks_);
  started_ = true;
  said_waits_ = false;
  runs_ = true;
  changed_at_.reset();
}

bool ElasticRanks::ready() {
  if (!is_on()) {
    available_at_start_ = plan_.ranks;
    return true;
  }
  if (runs_) looked_at_.reset();  // what was seen before a failure is old
  runs_ = false;
  const int available = look().ranks;
  const bool shrinks = available < plan_.ranks;
  if (shrinks && seconds_away(true) < policy_.shrink_after_seconds) {
    if (!said_waits_)
      say(stderr, "supervisor: {} of {} there: waiting up to {:.3g} s for the others\n", available,
          ranks_text(plan_.ranks), policy_.shrink_after_seconds);
    said_waits_ = true;
    return false;
  }
  const std::optional<ElasticPlan> plan = plan_for(available);
  if (!plan) {
    if (changed_to_ != available || !said_waits_)
      say(stderr, "supervisor: {} there: no plan for them with at least {} fits; waiting\n",
          ranks_text(available), ranks_text(static_cast<int>(policy_.least_ranks)));
    said_waits_ = true;
    changed_to_ = available;
    return false;
  }
  // Of as many ranks another plan is worth nothing: they share the machine as before.
  const bool moves = shrinks || plan->ranks > plan_.ranks || !started_;
  adopt(moves ? *plan : ElasticPlan(plan_), available);
  return true;
}

bool ElasticRanks::must_move() {
  if (!is_on()) return false;
  const int available = look().ranks;
  if (available < plan_.ranks) return seconds_away(true) >= policy_.shrink_after_seconds;
  const bool more = std::min(available, most_ranks_) > plan_.ranks;
  if (!more) return seconds_away(false) > 0;
  if (seconds_away(true) < policy_.grow_after_seconds) return false;
  const std::optional<ElasticPlan> plan = plan_for(available);
  return plan && plan->ranks > plan_.ranks;
}

bool ElasticRanks::do_with_less() {
  if (!is_on() || plan_.ranks - 1 < policy_.least_ranks) return false;
  looked_at_.reset();
  untrusted_from_.reset();
  untrusted_from_ = look().ranks;
  trusted_ = plan_.ranks - 1;
  looked_at_.reset();
  const std::optional<ElasticPlan> plan = plan_for(trusted_);
  if (!plan) return false;
  say(stderr, "supervisor: one of {} is taken to be lost\n", ranks_text(plan_.ranks));
  seen_ = look();
  adopt(*plan, trusted_);
  return true;
}

}  // namespace tessera
