// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "config/plan_of_config.h"
#include "core/widened.h"
#include "data/made_batch.h"
#include "files/digest.h"
#include "models/build_model.h"
#include "program/pieces.h"
#include "verify/perturb_weights.h"

namespace tessera {
namespace {

// Elements that nobody gives stay NaN, so that a piece that no rank holds shows.
std::vector<std::byte> unknown_bytes(const TensorType& type) {
  return std::vector<std::byte>(static_cast<size_t>(type.bytes()), std::byte{0xff});
}

// Of what rounding does to one rank. With fewer, all of them are by chance much closer to exact
// maths than a right plan now and then.
constexpr int kSamples = 8;

DType narrowest_dtype(const VerifyRequest& request) {
  const DType sums = request.plan.reduce_dtype.value_or(request.precision);
  return size_bytes(sums) < size_bytes(request.precision) ? sums : request.precision;
}

// Every rank's copy of an element against the first rank's that has one.
void compare_replicas(const LocalMesh& mesh, WorstError& worst) {
  for (const StateBuffer& state : mesh.program().states) {
    std::vector<std::byte> first = unknown_bytes(state.type);
    for (int rank = mesh.num_ranks() - 1; rank >= 0; --rank)
      mesh.rank(rank).read_state(state, first);
    const std::vector<double> wanted = widened(state.type, first);
    double scale = 0;
    for (const double value : wanted) scale = std::max(scale, std::abs(value));
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
      std::vector<std::byte> own = first;
      mesh.rank(rank).read_state(state, own);
      if (std::memcmp(own.data(), first.data(), own.size()) == 0) continue;
      const std::vector<double> got = widened(state.type, own);
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

class Verification {
 public:
  explicit Verification(const VerifyRequest& request)
      : request_(request),
        local_losses_(static_cast<size_t>(request.plan.mesh.num_ranks())),
        judge_(narrowest_dtype(request), request.learning_rate,
               find_optimizer(request.optimizer.op)->takes_sign),
        exact_(one_rank(DType::Fp64)) {
    for (int i = 0; i < kSamples && narrowest_dtype(request) != DType::Fp64; ++i)
      rounded_.push_back(one_rank(narrowest_dtype(request)));
    mesh_ = request.on_gpu ? mesh_on_gpu() : mesh_on_cpu();
  }

  VerifyReport run() {
    initialise_states(*exact_, request_.seed);
    initialise_states(*mesh_, request_.seed);
    for (size_t i = 0; i < rounded_.size(); ++i) {
      initialise_states(*rounded_[i], request_.seed);
      perturb_weights(*rounded_[i], unit_of(narrowest_dtype(request_)), i);
    }
    compare_replicas(*mesh_, report_.replica);
    for (int step = 1; step <= request_.steps; ++step) compare_step(step);
    if (request_.show_ranks)
      for (int rank = 0; rank < mesh_->num_ranks(); ++rank)
        report_.ranks.push_back({rank, own_loss(rank), digest_of(mesh_->rank(rank))});
    return report_;
  }

 private:
  std::unique_ptr<CpuExecutor> one_rank(DType precision) const {
    VerifyRequest alone = request_;
    alone.precision = precision;
    return std::make_unique<CpuExecutor>(
        std::move(compile_for(alone, Plan{}, request_.threads).program()),
        CpuExecutorOptions{.threads = request_.threads});
  }

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

  StepOutcome step_on(Executor& executor, int step) const {
    write_made_batch(executor, step,
                     {.seed = request_.seed, .vocabulary = request_.model.vocabulary});
    executor.write_step("learning_rate", request_.learning_rate);
    executor.write_step("step", step);
    executor.run("train_step");
    return outcome_of(executor);
  }

  void compare_step(int step) {
    const StepOutcome exact = step_on(*exact_, step), got = step_on(*mesh_, step);
    std::vector<StepOutcome> rounded;
    for (const auto& sample : rounded_) rounded.push_back(step_on(*sample, step));
    if (step == 1) report_.first_loss = exact.loss;
    judge_.judge(step, got, exact, rounded, report_);
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
    if (event.finished || event.call.routine != RoutineKind::MetricReduce) return;
    const auto buffer = static_cast<size_t>(reads(event.instruction).front());
    if (event.program_class.buffers[buffer].name == "loss")
      local_losses_[static_cast<size_t>(rank)] = *event.bound.operands[0].as<double>();
  }

  const VerifyRequest& request_;
  std::vector<std::optional<double>> local_losses_;  // none: each rank has the whole loss
  StepJudge judge_;
  std::unique_ptr<CpuExecutor> exact_;  // on one rank
  std::vector<std::unique_ptr<CpuExecutor>> rounded_;
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
  return loss.is_allowed() && grad_norm.is_allowed() && gradient.is_allowed() &&
         parameter.is_allowed() && replica.is_allowed();
}

VerifyReport verify_plan(const VerifyRequest& request) { return Verification(request).run(); }

}  // namespace tessera
