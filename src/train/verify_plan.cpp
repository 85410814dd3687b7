// SPDX-License-Identifier: Apache-2.0
#include "train/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "core/widened.h"
#include "files/digest.h"
#include "models/build_model.h"
#include "program/pieces.h"
#include "train/made_batch.h"
#include "train/plan_of_config.h"

namespace tessera {
namespace {

using Tensors = std::map<std::string, std::vector<double>>;

// Elements that nobody gives stay NaN, so that a piece that no rank holds shows.
std::vector<std::byte> unknown_bytes(const TensorType& type) {
  return std::vector<std::byte>(static_cast<size_t>(type.bytes()), std::byte{0xff});
}

Tensors gradients_of(const Executor& executor) {
  Tensors tensors;
  for (const StateBuffer& state : executor.program().states) {
    if (!state.has_gradient()) continue;
    std::vector<std::byte> bytes = unknown_bytes(state.gradient_type);
    executor.read_gradient(state, bytes);
    tensors[state.name] = widened(state.gradient_type, bytes);
  }
  return tensors;
}

// Weights that are trained: master copies where there are any.
Tensors parameters_of(const Executor& executor) {
  Tensors tensors;
  const HostView& program = executor.program();
  for (const StateBuffer& state : program.states) {
    const bool parameter = state.spec.role == StateRole::Parameter;
    const bool has_master = parameter && program.find_state(state.name + ".master") != nullptr;
    if (!(parameter && !has_master) && state.spec.role != StateRole::Master &&
        state.spec.role != StateRole::Average)
      continue;
    std::vector<std::byte> bytes = unknown_bytes(state.type);
    executor.read_state(state, bytes);
    tensors[state.name] = widened(state.type, bytes);
  }
  return tensors;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

void note(WorstError& worst, double error, const std::string& name) {
  if (error > worst.error || std::isnan(error))
    worst = {std::isnan(error) ? INFINITY : error, name};
}

void compare(const Tensors& got, const Tensors& wanted, WorstError& worst) {
  double most = 0;
  for (const auto& [name, values] : wanted) most = std::max(most, largest(values));
  for (const auto& [name, values] : wanted) {
    const auto found = got.find(name);
    if (found == got.end() || found->second.size() != values.size()) {
      note(worst, INFINITY, name);
      continue;
    }
    double difference = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double off = std::abs(found->second[i] - values[i]);
      if (!(off <= difference)) difference = off;  // keeps NaN
    }
    const double scale = std::max(largest(values), 0.01 * most);
    note(worst, difference == 0 ? 0 : difference / scale, name);
  }
}

void compare_scalar(double got, double wanted, const std::string& name, WorstError& worst) {
  const double off = std::abs(got - wanted);
  note(worst, off == 0 ? 0 : off / std::abs(wanted), name);
}

// Every rank's copy of an element against the first rank's that has one.
void compare_replicas(const LocalMesh& mesh, WorstError& worst) {
  for (const StateBuffer& state : mesh.program().states) {
    std::vector<std::byte> first = unknown_bytes(state.type);
    for (int rank = mesh.num_ranks() - 1; rank >= 0; --rank)
      mesh.rank(rank).read_state(state, first);
    const std::vector<double> wanted = widened(state.type, first);
    const double scale = largest(wanted);
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
      std::vector<std::byte> own = first;
      mesh.rank(rank).read_state(state, own);
      if (std::memcmp(own.data(), first.data(), own.size()) == 0) continue;
      const std::vector<double> got = widened(state.type, own);
      for (size_t i = 0; i < got.size(); ++i) {
        const double off = std::abs(got[i] - wanted[i]);
        if (off != 0) note(worst, off / scale, fmt::format("{} on rank {}", state.name, rank));
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

class Verification {
 public:
  explicit Verification(const VerifyRequest& request)
      : request_(request), local_losses_(static_cast<size_t>(request.plan.mesh.num_ranks())) {
    Compiled oracle = compile_for(request, Plan{}, request.threads);
    oracle_ = std::make_unique<CpuExecutor>(std::move(oracle.program()),
                                            CpuExecutorOptions{.threads = request.threads});
    mesh_ = request.on_gpu ? mesh_on_gpu() : mesh_on_cpu();
  }

  VerifyReport run() {
    for (Executor* executor :
         {static_cast<Executor*>(oracle_.get()), static_cast<Executor*>(mesh_.get())})
      initialise_states(*executor, request_.seed);
    report_.tolerance = verify_tolerance(request_.precision);
    compare_replicas(*mesh_, report_.replica);
    for (int step = 1; step <= request_.steps; ++step) compare_step(step);
    if (request_.show_ranks)
      for (int rank = 0; rank < mesh_->num_ranks(); ++rank)
        report_.ranks.push_back({rank, own_loss(rank), digest_of(mesh_->rank(rank))});
    return report_;
  }

 private:
  std::unique_ptr<LocalMesh> mesh_on_cpu() {
    const int per_rank = threads_per_rank(request_.threads, request_.plan);
    return std::make_unique<MeshExecutor>(
        std::move(compile_for(request_, request_.plan, per_rank).programs),
        MeshExecutorOptions{
            .threads = per_rank,
            .poison = request_.poison,
            .observer = [this](int rank,
                               const InstructionEvent& event) { watch_loss(rank, event); },
            .change_program = request_.change_program});
  }

  std::unique_ptr<LocalMesh> mesh_on_gpu() const {
    TESSERA_CHECK(!request_.change_program, "programs are changed on the CPU alone");
    return make_cuda_mesh(compile_for(request_, request_.plan, 1).programs,
                          {.poison = request_.poison});
  }

  double step_on(Executor& executor, int step) {
    write_made_batch(executor, step,
                     {.seed = request_.seed, .vocabulary = request_.model.vocabulary});
    executor.write_step("learning_rate", request_.learning_rate);
    executor.write_step("step", step);
    executor.run("train_step");
    return executor.read_step("loss");
  }

  void compare_step(int step) {
    const double wanted = step_on(*oracle_, step), got = step_on(*mesh_, step);
    const std::string at = fmt::format("step {}", step);
    if (step == 1) report_.first_loss = wanted;
    compare_scalar(got, wanted, at, report_.loss);
    compare_scalar(std::sqrt(mesh_->read_step("norm_squares")),
                   std::sqrt(oracle_->read_step("norm_squares")), at, report_.grad_norm);
    compare(gradients_of(*mesh_), gradients_of(*oracle_), report_.gradient);
    compare(parameters_of(*mesh_), parameters_of(*oracle_), report_.parameter);
    compare_replicas(*mesh_, report_.replica);
  }

  std::optional<double> own_loss(int rank) const {
    const std::optional<double>& share = local_losses_[static_cast<size_t>(rank)];
    if (request_.on_gpu) return std::nullopt;  // only seen as a total there
    if (share || !mesh_->rank(rank).program().find_step_value("loss")) return share;
    return mesh_->rank(rank).read_step("loss");
  }

  // Where the loss is about to be totalled, it is still the rank's own share.
  void watch_loss(int rank, const InstructionEvent& event) {
    if (event.finished || event.call.routine != RoutineKind::Report) return;
    const auto buffer = static_cast<size_t>(event.instruction.operands.front());
    if (event.program_class.buffers[buffer].name == "loss")
      local_losses_[static_cast<size_t>(rank)] = *event.bound.operands[0].as<double>();
  }

  const VerifyRequest& request_;
  std::vector<std::optional<double>> local_losses_;  // none: each rank has the whole loss
  std::unique_ptr<CpuExecutor> oracle_;
  std::unique_ptr<LocalMesh> mesh_;
  VerifyReport report_;
};

}  // namespace

Compiled compile_for(const VerifyRequest& request, const Plan& plan, int threads_per_rank) {
  return compile(build_model(request.model, request.microbatch, request.precision, HeadKind::Loss),
                 {.training = true,
                  .optimizer = request.optimizer,
                  .plan = plan,
                  .profile = {.threads = threads_per_rank, .memory_bytes = request.memory_bytes},
                  .microbatches = request.microbatches,
                  .pipeline = plan.single() ? PipelineOptions{} : request.pipeline});
}

bool VerifyReport::equal() const {
  for (const WorstError* worst : {&loss, &grad_norm, &gradient, &parameter})
    if (!(worst->error <= tolerance)) return false;
  return replica.error == 0;
}

double verify_tolerance(DType precision) {
  switch (precision) {
    case DType::Fp64:
      return 1e-9;
    case DType::Fp32:
      return 1e-3;
    default:
      return 0.1;
  }
}

VerifyReport verify_plan(const VerifyRequest& request) { return Verification(request).run(); }

}  // namespace tessera
