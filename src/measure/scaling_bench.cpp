// SPDX-License-Identifier: Apache-2.0
// Executors live for one turn only: a second one's idle threads and memory would cost the first.
#include "measure/scaling_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "compiler/compile.h"
#include "config/model_of_config.h"
#include "config/plan_of_config.h"
#include "config/training_options.h"
#include "core/statistics.h"
#include "data/random_batch.h"
#include "exec/mesh_executor.h"
#include "measure/step_floor.h"
#include "models/build_model.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

Config with_mesh(Config config, const std::vector<Axis>& mesh) {
  config.mesh = mesh;
  if (mesh.empty()) {
    PlanConfig plan;  // all but recomputation speaks of axes that are not there
    plan.recompute = config.plan.recompute;
    plan.recompute_every = config.plan.recompute_every;
    config.plan = plan;
    config.plan_dims.clear();
  }
  return config;
}

// The steps of one turn.
class Turn {
 public:
  Turn(std::vector<Program> programs, int threads_per_rank, uint64_t seed, int64_t vocabulary)
      : executor_(make_cpu_executor(std::move(programs), {.threads = threads_per_rank})) {
    initialise_states(*executor_, seed);
    write_random_batch(*executor_, vocabulary);
  }

  // The first touches every page; a short one is not warm after that.
  double warm_up() {
    constexpr double kLong = 1;
    const double first = run_step();
    return first > kLong ? first : run_step();
  }

  double run_step() {
    const auto begin = Clock::now();
    executor_->write_step("learning_rate", 1e-4);
    executor_->write_step("step", ++step_);
    executor_->run("train_step");
    const double loss = executor_->read_step("loss");
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    TESSERA_CHECK(std::isfinite(loss), "the loss is {} at step {}", loss, step_);
    if (step_ == 2) second_loss_ = loss;
    return seconds;
  }

  // Behind one update, however many steps there was time for.
  double second_loss() const { return second_loss_; }

 private:
  std::unique_ptr<Executor> executor_;
  int step_ = 0;
  double second_loss_ = 0;
};

class ScalingBench {
 public:
  ScalingBench(const Config& config, const ScalingBenchOptions& options)
      : config_(config), options_(options), model_(model_of_config(config)) {
    if (config.run.device != "cpu")
      throw user_error("run.device is {}, but scaling is measured over ranks on the CPU",
                       config.run.device)
          .help("use --device cpu");
    result_.threads = threads_of_config(config);
    result_.tokens = tokens_per_step(config, model_);
  }

  // All programs first: a mesh that is impossible is refused before anything is measured.
  ScalingResult run(const std::vector<std::vector<Axis>>& meshes) {
    say("compiling");
    add_mesh({}, result_.threads);
    for (const std::vector<Axis>& mesh : meshes) {
      const int threads =
          threads_per_rank(result_.threads, plan_of_config(with_mesh(config_, mesh), model_));
      add_mesh({}, threads);
      if (Mesh(mesh).num_ranks() > 1) add_mesh(mesh, threads);
    }
    for (int round = 0; round < options_.rounds; ++round)
      for (size_t i = 0; i < result_.rows.size(); ++i) measure(round, i);
    for (ScalingRow& row : result_.rows) finish(row);
    return std::move(result_);
  }

 private:
  void say(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  const ScalingRow& one_rank(int threads) const {
    return *std::find_if(result_.rows.begin(), result_.rows.end(), [&](const ScalingRow& row) {
      return row.ranks() == 1 && row.threads_per_rank == threads;
    });
  }

  void add_mesh(const std::vector<Axis>& axes, int threads_per_rank) {
    for (const ScalingRow& row : result_.rows)
      if (row.mesh == Mesh(axes) && row.threads_per_rank == threads_per_rank) return;
    const Config config = with_mesh(config_, axes);
    programs_.push_back(
        compile(build_model(model_, microbatch_shape(config, model_), precision_of_config(config),
                            HeadKind::Loss),
                training_options(config, plan_of_config(config, model_), threads_per_rank))
            .programs);
    ScalingRow row;
    row.mesh = Mesh(axes);
    row.threads_per_rank = threads_per_rank;
    for (const Program& program : programs_.back())
      row.bytes_per_rank = std::max(row.bytes_per_rank, program.peak_bytes());
    result_.rows.push_back(std::move(row));
  }

  void measure(int round, size_t index) {
    ScalingRow& row = result_.rows[index];
    say(fmt::format("round {} of {}: mesh {}, {} threads per rank", round + 1, options_.rounds,
                    to_string(row.mesh), row.threads_per_rank));
    Turn turn(programs_[index], row.threads_per_rank, static_cast<uint64_t>(config_.train.seed),
              model_.vocabulary);
    const double warm = turn.warm_up();
    constexpr double kTurnSeconds = 5;
    const int steps = options_.steps > 0 ? options_.steps
                                         : std::clamp(static_cast<int>(kTurnSeconds / warm), 2, 30);
    std::vector<double> seconds;
    for (int i = 0; i < steps; ++i) seconds.push_back(turn.run_step());
    row.step_seconds.push_back(median(seconds));
    row.loss = turn.second_loss();
  }

  // Ratios are taken round by round, where both ran side by side.
  double speed_over(const ScalingRow& row, const ScalingRow& base) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < row.step_seconds.size(); ++i)
      ratios.push_back(base.step_seconds[i] / row.step_seconds[i]);
    return median(ratios);
  }

  void finish(ScalingRow& row) const {
    row.tokens_per_second = static_cast<double>(result_.tokens) / median(row.step_seconds);
    row.same_threads_ratio = speed_over(row, result_.rows.front());
    row.speed_up = speed_over(row, one_rank(row.threads_per_rank));
    row.ideal = ideal_speed_up(row.ranks(), row.threads_per_rank, result_.threads);
    row.efficiency = row.speed_up / row.ideal;
  }

  const Config& config_;
  const ScalingBenchOptions& options_;
  ModelConfig model_;
  std::vector<std::vector<Program>> programs_;  // by row, then by place along the pipeline
  ScalingResult result_;
};

}  // namespace

double ideal_speed_up(int ranks, int threads_per_rank, int threads) {
  return std::min(static_cast<double>(ranks), static_cast<double>(threads) / threads_per_rank);
}

std::vector<std::vector<Axis>> default_scaling_meshes(const Config& config) {
  std::vector<std::vector<Axis>> meshes;
  const int64_t rows = config.train.batch / config.train.microbatches;
  for (int ranks = 2; ranks <= threads_of_config(config) && rows % ranks == 0; ranks *= 2)
    meshes.push_back({{"dp", ranks}});
  return meshes;
}

ScalingResult bench_scaling(const Config& config, const std::vector<std::vector<Axis>>& meshes,
                            const ScalingBenchOptions& options) {
  return ScalingBench(config, options).run(meshes);
}

}  // namespace tessera
