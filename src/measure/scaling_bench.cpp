// SPDX-License-Identifier: Apache-2.0
// Executors live for one turn only: a second one's idle threads and memory would cost the first.
#include "measure/scaling_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "config/compile_step.h"
#include "core/statistics.h"
#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/make_executor.h"
#include "exec/train_step.h"
#include "measure/step_floor.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// The steps of one turn.
class Turn {
 public:
  Turn(const RunSpec& spec, const std::vector<Program>& programs, uint64_t seed)
      : executor_(make_executor(spec, programs)) {
    initialise_states(*executor_, seed);
    write_benchmark_batch(*executor_, spec.model.vocabulary);
  }

  // The first touches every page; a short one is not warm after that.
  double warm_up() {
    constexpr double kLong = 1;
    const double first = run_step();
    return first > kLong ? first : run_step();
  }

  double run_step() {
    const auto begin = Clock::now();
    const double loss = run_train_step(*executor_, {.learning_rate = 1e-4, .step = ++step_}).loss;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    TESSERA_CHECK(std::isfinite(loss), "the loss is {} at step {}", loss, step_);
    if (step_ == 2) second_loss_ = loss;
    return seconds;
  }

  // After one update, however many steps there was time for.
  double second_loss() const { return second_loss_; }

 private:
  std::unique_ptr<Executor> executor_;
  int step_ = 0;
  double second_loss_ = 0;
};

class ScalingBench {
 public:
  ScalingBench(const Config& config, const ScalingBenchOptions& options)
      : config_(config), options_(options) {
    require_device(config.run.device);
    const RunSpec alone = resolve(with_mesh(config, {}));
    result_.threads = alone.threads_per_rank();
    result_.tokens = alone.tokens_per_step();
  }

  // All programs first: a mesh that is impossible is refused before anything is measured.
  ScalingResult run(const std::vector<std::vector<Axis>>& meshes) {
    say("compiling");
    add_mesh({}, result_.threads);
    for (const std::vector<Axis>& mesh : meshes) {
      const int threads = resolve(with_mesh(config_, mesh)).threads_per_rank();
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
    RunSpec& spec = specs_.emplace_back(resolve(with_mesh(config_, axes)));
    spec.threads = threads_per_rank * spec.plan.mesh.num_ranks();
    programs_.push_back(compile(spec).programs);
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
    Turn turn(specs_[index], programs_[index], static_cast<uint64_t>(config_.train.seed));
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
  std::vector<RunSpec> specs_;                  // by row
  std::vector<std::vector<Program>> programs_;  // by row, then by place along the pipeline
  ScalingResult result_;
};

}  // namespace

double ideal_speed_up(int ranks, int threads_per_rank, int threads) {
  return std::min(static_cast<double>(ranks), static_cast<double>(threads) / threads_per_rank);
}

std::vector<std::vector<Axis>> default_scaling_meshes(const Config& config) {
  std::vector<std::vector<Axis>> meshes;
  constexpr int kMostSharers = 8;  // of a GPU
  const int most = is_host(config.run.device) ? resolve_threads(config) : kMostSharers;
  const int64_t rows = config.train.batch / config.train.microbatches;
  for (int ranks = 2; ranks <= most && rows % ranks == 0; ranks *= 2)
    meshes.push_back({{"dp", ranks}});
  return meshes;
}

ScalingResult bench_scaling(const Config& config, const std::vector<std::vector<Axis>>& meshes,
                            const ScalingBenchOptions& options) {
  return ScalingBench(config, options).run(meshes);
}

}  // namespace tessera
