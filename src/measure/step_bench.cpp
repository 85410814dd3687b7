// SPDX-License-Identifier: Apache-2.0
#include "measure/step_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "compiler/compile.h"
#include "config/model_of_config.h"
#include "config/training_options.h"
#include "core/statistics.h"
#include "data/random_batch.h"
#include "exec/cpu/matmul_rate.h"
#include "exec/device_executor.h"
#include "exec/gpu_matmul.h"
#include "exec/mesh_executor.h"
#include "measure/fitting_step.h"
#include "measure/utilisation.h"
#include "models/build_model.h"
#include "models/model_size.h"
#include "program/program_work.h"
#include "system/process_age.h"
#include "system/resident_memory.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

class StepBench {
 public:
  StepBench(const Config& config, const StepBenchOptions& options)
      : config_(config),
        options_(options),
        model_(model_of_config(config)),
        shape_(microbatch_shape(config, model_)),
        microbatches_(static_cast<int>(config.train.microbatches)) {
    if (on_gpu())
      require_gpu();
    else
      Openblas();  // before time is spent on steps, where it is missing
    result_.threads = on_gpu() ? 1 : threads_of_config(config);
  }

  StepBenchResult run() {
    say("compiling, and making the first weights");
    make_executor();
    warm_up();
    if (on_gpu()) return run_on_gpu();
    StepFloor floor(floor_matmuls(model_, shape_, microbatches_), result_.threads);
    measure_floor(floor);
    measure_steps((steps_ + 1) / 2);
    measure_floor(floor);
    measure_steps(steps_ / 2);
    measure_floor(floor);
    finish(floor);
    return std::move(result_);
  }

 private:
  bool on_gpu() const { return config_.run.device == "cuda"; }

  // The floor is OpenBLAS's, so a GPU has none.
  StepBenchResult run_on_gpu() {
    if (config_.run.peak_gflops == 0)
      result_.peak_flops_per_second = measure_cuda_matmul_rate(precision_of_config(config_));
    measure_steps(steps_);
    result_.device_bytes = gpu_bytes_in_use();
    finish();
    return std::move(result_);
  }

  void say(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  void make_executor() {
    Compiled compiled =
        compile(build_model(model_, shape_, precision_of_config(config_), HeadKind::Loss),
                training_options(config_, plan_of_config(config_, model_), result_.threads));
    hardware_flops_ = work_of(compiled.programs, "train_step").flops;
    RankObserver observer;
    if (options_.profile)
      observer = [this](int, const InstructionEvent& event) { profile_.observe(event); };
    if (on_gpu()) {
      const std::string slow = slow_dtype_warning(precision_of_config(config_).compute);
      if (!slow.empty()) say("warning: " + slow);
      executor_ =
          make_fitting_cuda_executor(config_, std::move(compiled.programs), std::move(observer));
    } else {
      executor_ = make_cpu_executor(std::move(compiled.programs),
                                    {.threads = result_.threads, .observer = std::move(observer)});
    }
    initialise_states(*executor_, static_cast<uint64_t>(config_.train.seed));
    write_random_batch(*executor_, model_.vocabulary);
  }

  double run_step() {
    const auto begin = Clock::now();
    executor_->write_step("learning_rate", 1e-4);
    executor_->write_step("step", ++step_);
    executor_->run("train_step");
    result_.loss = executor_->read_step("loss");
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    TESSERA_CHECK(std::isfinite(result_.loss), "the loss is {} at step {}", result_.loss, step_);
    return seconds;
  }

  void warm_up() {
    say("warming up");
    run_step();  // touches every page
    result_.first_step_seconds = process_age_seconds();
    const double seconds = run_step();
    result_.resident_bytes = peak_resident_bytes();
    profile_.clear();
    constexpr double kTotalSeconds = 10;
    steps_ = options_.steps > 0 ? options_.steps
                                : std::clamp(static_cast<int>(kTotalSeconds / seconds), 4, 60);
  }

  void measure_floor(StepFloor& floor) {
    say("measuring the floor");
    floor.measure_round();
    if (config_.run.peak_gflops == 0)
      result_.peak_flops_per_second =
          std::max(result_.peak_flops_per_second, measure_matmul_rate(result_.threads));
    OpenblasTimer::settle();
  }

  void measure_steps(int count) {
    if (count == 0) return;
    say(fmt::format("measuring {} steps", count));
    for (int i = 0; i < count; ++i) {
      profile_.begin_step();
      result_.all_step_seconds.push_back(run_step());
    }
  }

  void finish(const StepFloor& floor) {
    finish();
    result_.floor_seconds = floor.seconds();
    result_.floor_ratio = result_.floor_seconds / result_.step_seconds;
    result_.floor = floor.rates();
  }

  void finish() {
    result_.tokens = tokens_per_step(config_, model_);
    result_.step_seconds = median(result_.all_step_seconds);
    result_.tokens_per_second = static_cast<double>(result_.tokens) / result_.step_seconds;
    if (config_.run.peak_gflops > 0) result_.peak_flops_per_second = config_.run.peak_gflops * 1e9;
    result_.mfu = model_flops_utilisation(flops_per_token(model_, config_.train.seq).causal,
                                          result_.tokens_per_second, result_.peak_flops_per_second);
    result_.hfu = hardware_flops_utilisation(hardware_flops_, result_.step_seconds,
                                             result_.peak_flops_per_second);
    result_.peak_bytes = executor_->planned_bytes();
    if (options_.profile) result_.profile = profile_.rows(options_.profile_by_shape);
  }

  const Config& config_;
  const StepBenchOptions& options_;
  ModelConfig model_;
  BatchShape shape_;
  int microbatches_;
  int steps_ = 0;  // to measure
  int step_ = 0;   // done
  double hardware_flops_ = 0;
  StepProfile profile_;
  std::unique_ptr<Executor> executor_;
  StepBenchResult result_;
};

}  // namespace

StepBenchResult bench_step(const Config& config, const StepBenchOptions& options) {
  return StepBench(config, options).run();
}

}  // namespace tessera
