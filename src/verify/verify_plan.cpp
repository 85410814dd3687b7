// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "core/convert_elements.h"
#include "core/dtype.h"
#include "core/random.h"
#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/make_executor.h"
#include "exec/train_step.h"
#include "files/digest.h"
#include "program/pieces.h"
#include "verify/route_watch.h"
#include "verify/step_outcome.h"

namespace tessera {
namespace {

// Of what rounding does to one rank. With fewer, all of them are sometimes much closer to exact
// maths than a right plan.
constexpr int kSamples = 8;

// Scores of a router that are closer than this, relative to the largest, may change places by
// rounding: in fp64, and in units of a narrower dtype.
constexpr double kTieInFp64 = 1e-9, kTie = 16;

DType narrowest_dtype(const RunSpec& spec) {
  const DType compute = spec.precision.compute, sums = spec.plan.reduce_dtype.value_or(compute);
  return size_bytes(sums) < size_bytes(compute) ? sums : compute;
}

// Every rank's copy of an element against the first rank's that has one.
void compare_replicas(const LocalMesh& mesh, WorstError& worst) {
  for (const StateBuffer& state : mesh.program().states) {
    std::vector<std::byte> first = unknown_bytes(state.type);
    for (int rank = mesh.num_ranks() - 1; rank >= 0; --rank)
      mesh.rank(rank).read_state(state, first);
    const std::vector<double> wanted = to_doubles(state.type, first);
    double scale = 0;
    for (const double value : wanted) scale = std::max(scale, std::abs(value));
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
      std::vector<std::byte> own = first;
      mesh.rank(rank).read_state(state, own);
      if (std::memcmp(own.data(), first.data(), own.size()) == 0) continue;
      const std::vector<double> got = to_doubles(state.type, own);
      for (size_t i = 0; i < got.size(); ++i) {
        const double off = std::abs(got[i] - wanted[i]);
        if (!(off / scale <= worst.error))
          worst = {.error = std::isnan(off) ? INFINITY : off / scale,
                   .name = fmt::format("{} on rank {}", state.name, rank)};
      }
    }
  }
}

std::string digest_of(const RankExecutor& rank) {
  Digest digest;
  std::vector<std::byte> bytes;
  for (const StateBuffer& state : rank.program().states) {
    if (state.spec.role != StateRole::Parameter) continue;
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    rank.read_state(state, bytes);
    const auto element_bytes = static_cast<size_t>(size_bytes(state.type.dtype));
    for_each_piece(
        rank.program(), rank.rank(), state.type, state.placement, state.place,
        [&](int64_t, int64_t element, int64_t count) {
          digest.add(std::span(bytes).subspan(static_cast<size_t>(element) * element_bytes,
                                              static_cast<size_t>(count) * element_bytes));
        });
  }
  return digest.text();
}

void compare_routes(int step, const RouteCounts& got, const RouteCounts& exact,
                    RouteErrors& errors) {
  for (const auto& [layer, wanted] : exact) {
    const auto found = got.find(layer);
    int64_t off = 0;
    for (size_t e = 0; e < wanted.size(); ++e) {
      errors.routes += wanted[e];
      off += std::abs(wanted[e] - (found == got.end() ? 0 : found->second[e]));
    }
    errors.off += off;
    if (off > 0 && errors.place.empty()) errors.place = fmt::format("{}, step {}", layer, step);
  }
}

class Verification {
 public:
  Verification(const RunSpec& spec, const VerifyOptions& options)
      : spec_(spec),
        options_(options),
        local_losses_(static_cast<size_t>(spec.plan.mesh.num_ranks())),
        judge_(judge_of(spec.optimizer, narrowest_dtype(spec), options.learning_rate)) {
    exact_ = one_rank(DType::Fp64, exact_routes_);
    report_.router_rounding =
        narrowest_dtype(spec) == DType::Fp64 ? kTieInFp64 : kTie * unit_of(narrowest_dtype(spec));
    for (int i = 0; i < kSamples && narrowest_dtype(spec) != DType::Fp64; ++i)
      rounded_.push_back(one_rank(narrowest_dtype(spec), rounded_routes_.emplace_back()));
    mesh_ = all_ranks();
  }

  VerifyReport run() {
    initialise_states(*exact_, options_.seed);
    initialise_states(*mesh_, options_.seed);
    for (size_t i = 0; i < rounded_.size(); ++i) {
      initialise_states(*rounded_[i], options_.seed);
      perturb_weights(*rounded_[i], unit_of(narrowest_dtype(spec_)), i);
    }
    compare_replicas(*mesh_, report_.replica);
    for (int step = 1; step <= options_.steps && !report_.cancelled; ++step) compare_step(step);
    if (options_.show_ranks)
      for (int rank = 0; rank < mesh_->num_ranks(); ++rank)
        report_.ranks.push_back({rank, own_loss(rank), digest_of(mesh_->rank(rank))});
    return report_;
  }

 private:
  std::unique_ptr<Executor> one_rank(DType precision, std::unique_ptr<RouteWatch>& routes) {
    RunSpec alone = spec_;
    alone.precision = precision;
    alone.plan = {};
    alone.device = DeviceKind::Cpu;
    const Compiled compiled = compile(alone);
    ExecutorOptions options;
    if (spec_.model.has_experts()) {
      routes = std::make_unique<RouteWatch>(compiled.module, spec_.microbatch, forces_routes());
      options.observer = [this, watch = routes.get()](int rank, const InstructionEvent& event) {
        watch->see(rank, event);
        if (watch == exact_routes_.get() && !forces_routes())
          note_margin(event, step_, report_.router);
      };
    }
    return make_executor(alone, compiled.programs, std::move(options));
  }

  std::unique_ptr<LocalMesh> all_ranks() {
    TESSERA_CHECK(is_host(spec_.device) || !options_.change_program,
                  "programs are changed on the CPU alone");
    ExecutorOptions options{.threads = spec_.threads_per_rank(), .poison = options_.poison};
    options.change_program = options_.change_program;
    const Compiled compiled = compile(spec_);
    if (is_host(spec_.device) && spec_.model.has_experts())
      routes_ = std::make_unique<RouteWatch>(compiled.module, spec_.microbatch, forces_routes());
    if (is_host(spec_.device))  // elsewhere a step that is watched is no graph
      options.observer = [this](int rank, const InstructionEvent& event) {
        watch_loss(rank, event);
        if (routes_) routes_->see(rank, event);
      };
    return require_device(spec_.device).make_mesh(compiled.programs, std::move(options));
  }

  bool goes_on(const VerifyProgress& progress) {
    report_.cancelled = options_.progress && !options_.progress(progress);
    return !report_.cancelled;
  }

  bool forces_routes() const { return options_.force_routes; }

  StepOutcome step_on(Executor& executor, int step) const {
    write_verification_batch(executor, step,
                             {.seed = options_.seed, .vocabulary = spec_.model.vocabulary});
    run_train_step(executor, {.learning_rate = options_.learning_rate, .step = step});
    return outcome_of(executor);
  }

  void compare_step(int step) {
    step_ = step;
    if (!goes_on({step, options_.steps, false})) return;
    const StepOutcome exact = step_on(*exact_, step);
    if (!goes_on({step, options_.steps, true})) return;
    const StepOutcome got = step_on(*mesh_, step);
    std::vector<StepOutcome> rounded;
    for (const auto& sample : rounded_) rounded.push_back(step_on(*sample, step));
    if (step == 1) report_.first_loss = exact.loss;
    judge_.judge(step, got, exact, rounded, report_);
    if (routes_)
      compare_routes(step, routes_->take_counts(), exact_routes_->take_counts(), report_.routes);
    compare_replicas(*mesh_, report_.replica);
  }

  std::optional<double> own_loss(int rank) const {
    const std::optional<double>& share = local_losses_[static_cast<size_t>(rank)];
    if (!is_host(spec_.device)) return std::nullopt;  // only seen as a total there
    if (share || !mesh_->rank(rank).program().find_step_value("loss")) return share;
    return mesh_->rank(rank).read_step("loss");
  }

  // Where the loss is about to be totalled, it is still the rank's own share.
  void watch_loss(int rank, const InstructionEvent& event) {
    if (event.finished || event.call.routine != RoutineKind::MetricReduce) return;
    const auto buffer = static_cast<size_t>(reads(event.instruction).front());
    if (event.program_class.buffers[buffer].name == "loss")
      local_losses_[static_cast<size_t>(rank)] = *event.bound.operands[0].as<double>();
  }

  const RunSpec& spec_;
  const VerifyOptions& options_;
  int step_ = 0;
  std::vector<std::optional<double>> local_losses_;  // none: each rank has the whole loss
  StepJudge judge_;
  // Of the executors below, where the model has routers.
  std::unique_ptr<RouteWatch> exact_routes_, routes_;
  std::vector<std::unique_ptr<RouteWatch>> rounded_routes_;
  std::unique_ptr<Executor> exact_;  // on one rank
  std::vector<std::unique_ptr<Executor>> rounded_;
  std::unique_ptr<LocalMesh> mesh_;
  VerifyReport report_;
};

}  // namespace

bool VerifyReport::equal() const {
  return loss.is_allowed() && grad_norm.is_allowed() && gradient.is_allowed() &&
         parameter.is_allowed() && replica.is_allowed() && (routes.off == 0 || tied());
}

VerifyReport verify_plan(const RunSpec& spec, const VerifyOptions& options) {
  if (options.force_routes && !spec.model.has_experts())
    throw user_error("the model has no routers whose choices could be forced")
        .help("use a model with experts, or leave out --routing");
  if (options.force_routes && !is_host(spec.device))
    throw user_error("routes are forced on the CPU alone")
        .help("leave out --device, or leave the choice to the routers");
  return Verification(spec, options).run();
}

void perturb_weights(Executor& executor, double part, uint64_t seed) {
  std::vector<std::byte> bytes;
  for (const StateBuffer& state : executor.program().states) {
    const bool is_parameter = state.spec.role == StateRole::Parameter;
    if (!is_parameter && state.spec.role != StateRole::Master) continue;
    // A master copy and its parameter move together.
    const RandomStream random(seed, is_parameter ? state.name : state.spec.parameter);
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    executor.read_state(state, bytes);
    dispatch_float(state.type.dtype, [&]<typename T>() {
      auto* values = reinterpret_cast<T*>(bytes.data());
      for (size_t i = 0; i < static_cast<size_t>(state.type.num_elements()); ++i) {
        const double factor = 1 + part * (2 * random.uniform(i) - 1);
        values[i] = store<T>(static_cast<Accumulator<T>>(load(values[i]) * factor));
      }
    });
    executor.write_state(state, bytes);
  }
}

}  // namespace tessera
