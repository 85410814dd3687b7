// SPDX-License-Identifier: Apache-2.0
#include "measure/step_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "config/compile_step.h"
#include "core/statistics.h"
#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/train_step.h"
#include "measure/fitting_step.h"
#include "measure/utilisation.h"
#include "models/model_size.h"
#include "program/program_work.h"
#include "system/process.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

class StepBench {
 public:
  StepBench(const Config& config, const StepBenchOptions& options)
      : config_(config),
        options_(options),
        spec_(resolve(config)),
        device_(require_device(spec_.device)) {
    if (is_host(spec_.device)) Openblas();  // before time is spent on steps, where it is missing
    result_.threads = spec_.threads_per_rank();
  }

  StepBenchResult run() {
    say("compiling, and making the first weights");
    make_executor();
    warm_up();
    if (!is_host(spec_.device)) return run_without_floor();
    StepFloor floor(floor_matmuls(spec_.model, spec_.microbatch, spec_.microbatches),
                    result_.threads);
    measure_floor(floor);
    measure_steps((steps_ + 1) / 2);
    measure_floor(floor);
    measure_steps(steps_ / 2);
    measure_floor(floor);
    finish(floor);
    return std::move(result_);
  }

 private:
  // The floor is OpenBLAS's, so a GPU has none.
  StepBenchResult run_without_floor() {
    measure_peak();
    const std::optional<double> before = device_.joules();
    const auto begin = Clock::now();
    measure_steps(steps_);
    const double seconds = seconds_since(begin);
    const std::optional<double> after = device_.joules();
    if (before && after) {
      result_.joules_per_step = (*after - *before) / steps_;
      result_.watts = (*after - *before) / seconds;
    }
    result_.device_bytes = device_.bytes_in_use();
    finish();
    return std::move(result_);
  }

  void say(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  void make_executor() {
    Compiled compiled = compile(spec_);
    hardware_flops_ = work_of(compiled.programs, "train_step").flops;
    RankObserver observer;
    if (options_.profile)
      observer = [this](int, const InstructionEvent& event) { profile_.observe(event); };
    const std::string slow = device_.slow_dtype_warning(spec_.precision.compute);
    if (!slow.empty()) say("warning: " + slow);
    executor_ = make_fitting_executor(config_, spec_, std::move(compiled.programs),
                                      {.observer = std::move(observer)});
    initialise_states(*executor_, static_cast<uint64_t>(config_.train.seed));
    write_benchmark_batch(*executor_, spec_.model.vocabulary);
  }

  double run_step() {
    const auto begin = Clock::now();
    result_.loss = run_train_step(*executor_, {.learning_rate = 1e-4, .step = ++step_}).loss;
    const double seconds = seconds_since(begin);
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
    measure_peak();
    OpenblasTimer::settle();
  }

  void measure_peak() {
    if (config_.run.peak_gflops == 0)
      result_.peak_flops_per_second = std::max(
          result_.peak_flops_per_second, device_.matmul_rate(spec_.precision, result_.threads));
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
    result_.tokens = spec_.tokens_per_step();
    result_.step_seconds = median(result_.all_step_seconds);
    result_.tokens_per_second = static_cast<double>(result_.tokens) / result_.step_seconds;
    if (config_.run.peak_gflops > 0) result_.peak_flops_per_second = config_.run.peak_gflops * 1e9;
    result_.mfu = model_flops_utilisation(flops_per_token(spec_.model, spec_.seq()).causal,
                                          result_.tokens_per_second, result_.peak_flops_per_second);
    result_.hfu = hardware_flops_utilisation(hardware_flops_, result_.step_seconds,
                                             result_.peak_flops_per_second);
    result_.peak_bytes = executor_->planned_bytes();
    if (options_.profile) result_.profile = profile_.rows(options_.profile_by_shape);
  }

  const Config& config_;
  const StepBenchOptions& options_;
  RunSpec spec_;
  const Device& device_;
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
