// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_islands.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>

#include "config/compile_step.h"
#include "config/island_config.h"
#include "exec/make_executor.h"
#include "exec/train_step.h"
#include "islands/local_islands.h"

namespace tessera {
namespace {

constexpr double kAllowed = 1e-9;

void note(WorstError& worst, double error, std::string name) {
  if (std::isnan(error)) error = INFINITY;
  if (!(error <= worst.error) || worst.allowed == 0)
    worst = {.error = error, .allowed = kAllowed, .name = std::move(name)};
}

class IslandsVerification {
 public:
  IslandsVerification(const RunSpec& spec, const VerifyIslandsOptions& options)
      : spec_(spec),
        options_(options),
        play_(options.play),
        oracle_(one_rank(spec), options.play),
        format_{.wire = play_.islands.wire, .dtype = DType::Fp64},
        links_(play_.count, outer_options(play_.islands), format_, play_.late_after > 0 ? 1 : 0) {
    for (int i = 0; i < play_.count; ++i) {
      islands_.push_back(
          std::make_unique<Island>(judge_of(spec.optimizer, DType::Fp64, play_.learning_rate)));
      islands_.back()->executor = make_executor(spec_, compile(spec_).programs);
      initialise_states(*islands_.back()->executor, play_.seed);
    }
  }

  VerifyIslandsReport run() {
    for (int step = 1; step <= play_.steps; ++step) {
      report_.cancelled = options_.progress && !options_.progress(step);
      if (report_.cancelled) break;
      run_step(step);
      report_.steps = step;
    }
    return report_;
  }

 private:
  struct Island {
    explicit Island(StepJudge its_judge) : judge(std::move(its_judge)) {}
    StepJudge judge;
    std::unique_ptr<Executor> executor;
    std::unique_ptr<IslandLink> link;
    std::unique_ptr<IslandExchange> exchange;
    StepOutcome outcome;
    std::vector<double> doubts;  // of each parameter, how far it may be off
  };

  static RunSpec one_rank(const RunSpec& spec) {
    RunSpec alone = spec;
    alone.plan = {};
    alone.device = DeviceKind::Cpu;
    return alone;
  }

  // In its own thread: it waits for the others.
  void run_island(int i, int step) {
    Island& island = *islands_[static_cast<size_t>(i)];
    write_island_batch(*island.executor, play_, spec_.model.vocabulary, i, step);
    run_train_step(*island.executor, {.learning_rate = play_.learning_rate, .step = step});
    island.outcome = outcome_of(*island.executor);
    if (options_.change_island) options_.change_island(i, step, *island.executor);
    island.exchange->after_step(step);
  }

  void begin(int i, int step) {
    Island& island = *islands_[static_cast<size_t>(i)];
    island.link = links_.link(i);
    if (options_.change_link) island.link = options_.change_link(i, std::move(island.link));
    IslandExchangeOptions options{.islands = play_.islands,
                                  .format = format_,
                                  .steps = play_.steps,
                                  .link = island.link.get()};
    if (options_.change_options) options_.change_options(i, options);
    island.exchange = std::make_unique<IslandExchange>(*island.executor, std::move(options));
    island.exchange->begin(step - 1);
  }

  void run_step(int step) {
    for (int i = 0; i < play_.count; ++i)  // a late one joins before the others send again
      if (oracle_.takes_part(i, step) && !islands_[static_cast<size_t>(i)]->exchange)
        begin(i, step);
    std::vector<std::exception_ptr> errors(islands_.size());
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < play_.count; ++i)
        if (oracle_.takes_part(i, step))
          threads.emplace_back([this, i, step, &error = errors[static_cast<size_t>(i)]] {
            try {
              run_island(i, step);
            } catch (const std::exception& thrown) {
              error = std::current_exception();
              links_.fail(i, thrown.what());
            }
          });
    }
    rethrow_first(errors);
    compare(step, oracle_.step(step));
  }

  static void rethrow_first(const std::vector<std::exception_ptr>& errors) {
    for (const std::exception_ptr& error : errors) try {
        if (error) std::rethrow_exception(error);
      } catch (
          const IslandFailed&) {  // NOLINT(bugprone-empty-catch): the cause is among the others
      }
  }

  void compare(int step, const std::vector<StepOutcome>& exact) {
    bool exchanged = false;
    for (int i = 0; i < play_.count; ++i) {
      if (!oracle_.takes_part(i, step)) continue;
      Island& island = *islands_[static_cast<size_t>(i)];
      island.judge.judge(step, island.outcome, exact[static_cast<size_t>(i)], {}, report_);
      const size_t exchanges = island.exchange->take_records().size();
      exchanged = exchanged || exchanges > 0;
      if (i == 0) report_.exchanges += static_cast<int>(exchanges);
    }
    if (exchanged) share_doubts();
    for (int i = 0; i < play_.count; ++i)
      if (oracle_.takes_part(i, step)) compare_island(i, step);
  }

  // What one island does not know of a parameter, the others do not know after an exchange.
  void share_doubts() {
    const IslandsConfig& outer = play_.islands;
    const double growth =
        outer.outer_optimizer == OuterOptimizer::Average
            ? 1
            : std::max(1.0, outer.outer_learning_rate * (1 + outer.outer_momentum) /
                                (1 - outer.outer_momentum));
    std::vector<StepJudge*> judges;
    for (const auto& island : islands_) judges.push_back(&island->judge);
    StepJudge::share_doubts(judges, growth);
  }

  void compare_island(int i, int step) {
    const Island& island = *islands_[static_cast<size_t>(i)];
    const FragmentLayout layout(island.executor->program(), 1);
    const std::vector<double> allowed = allowed_doubts(island);
    compare_values(fmt::format("island {}, step {}", i, step), layout.read(*island.executor, 0),
                   oracle_.own(i), allowed);
    const OuterState& outer = *island.exchange->outer();
    std::vector<double> all;
    for (int f = 0; f < outer.fragments(); ++f)
      for (const double value : outer.parameters(f)) all.push_back(value);
    compare_values(fmt::format("outer parameters of island {}, step {}", i, step), all,
                   oracle_.outer(), allowed);
  }

  std::vector<double> allowed_doubts(const Island& island) const {
    const HostView& program = island.executor->program();
    std::map<std::string, int64_t> sizes;
    for (const StateBuffer& state : program.states)
      if (state.spec.role == StateRole::Parameter && !state.spec.frozen)
        sizes[state.name] = state.type.num_elements();
    std::vector<double> all;
    for (const auto& [name, elements] : sizes)
      for (int64_t e = 0; e < elements; ++e)
        all.push_back(island.judge.doubt_of(name, static_cast<size_t>(e)));
    return all;
  }

  // Relative to the largest weight of all, as a bound of its own: exchanges only add and scale.
  void compare_values(const std::string& what, const std::vector<double>& got,
                      const std::vector<double>& wanted, const std::vector<double>& allowed) {
    double most = 0;
    for (const double value : wanted) most = std::max(most, std::abs(value));
    double worst = got.size() == wanted.size() ? 0 : INFINITY;
    for (size_t e = 0; e < std::min(got.size(), wanted.size()); ++e) {
      const double off = std::abs(got[e] - wanted[e]);
      if (!(off <= allowed[e]))
        worst = std::isnan(off) ? INFINITY : std::max(worst, off - allowed[e]);
    }
    note(report_.combined, worst / most, what);
  }

  const RunSpec& spec_;
  const VerifyIslandsOptions& options_;
  const IslandPlay& play_;
  IslandOracle oracle_;
  WireFormat format_;
  LocalIslands links_;
  std::vector<std::unique_ptr<Island>> islands_;
  VerifyIslandsReport report_;
};

}  // namespace

bool VerifyIslandsReport::equal() const {
  return loss.is_allowed() && grad_norm.is_allowed() && gradient.is_allowed() &&
         parameter.is_allowed() && combined.is_allowed();
}

IslandPlay play_of(const Config& config, int steps) {
  IslandPlay play{.islands = config.islands,
                  .count = islands_of(config),
                  .seed = static_cast<uint64_t>(config.train.seed)};
  IslandsConfig& islands = play.islands;
  islands.every =
      std::min(islands.every, std::max({islands.fragments, islands.delay + 1, int64_t{2}}));
  play.steps = std::max(steps, static_cast<int>(2 * islands.every + 1));
  return play;
}

VerifyIslandsReport verify_islands(const RunSpec& spec, const VerifyIslandsOptions& options) {
  return IslandsVerification(spec, options).run();
}

}  // namespace tessera
