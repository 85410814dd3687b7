// SPDX-License-Identifier: Apache-2.0
// Times every kernel of made-up models on its own, and their whole steps, in bf16 and, where the
// GPU has it, in fp8; the result is a cluster of one GPU. In a step, kernels of a large model take
// longer than on their own, because the GPU is warmer, those of a small one less, because they find
// data in the cache: all are scaled by one factor so that they fill the step.
#include <array>
#include <chrono>
#include <functional>
#include <numeric>

#include "config/compile_step.h"
#include "core/statistics.h"
#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/make_executor.h"
#include "exec/train_step.h"
#include "ir/op_list.h"
#include "measure/calibrate.h"
#include "measure/calibration_model.h"
#include "measure/efficiency_samples.h"
#include "measure/step_floor.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

// One layer each is enough: like layers have like kernels.
constexpr std::array kGpuModels{
    CalibrationModel{"tiny", 4, 256, 4, 2, 704, 1000, 2, 256},
    CalibrationModel{"gpt2-124m", 1, 384, 6, 6, 1536, 9000, 8, 512},
    CalibrationModel{"gpt2-124m", 1, 640, 10, 10, 2560, 30000, 16, 768},
    CalibrationModel{"gpt2-124m", 1, 896, 14, 14, 3584, 40000, 48, 896},
    CalibrationModel{"gpt2-124m", 1, 1408, 22, 22, 5632, 45000, 24, 1280},
    CalibrationModel{"qwen3-0.6b", 1, 1152, 18, 6, 3456, 70000, 8, 1536},
    CalibrationModel{"llama3-1b", 1, 1536, 24, 6, 6144, 60000, 8, 2048},
    CalibrationModel{"llama3-1b", 1, 2560, 40, 10, 9216, 100000, 6, 5120},
    CalibrationModel{"llama3-1b", 1, 3328, 26, 13, 10240, 90000, 2, 3072},
    CalibrationModel{"llama3-1b", 1, 5120, 40, 8, 16384, 110000, 3, 3072},
    CalibrationModel{"mlp", 3, 1152, 0, 0, 0, 0, 8192, 1},
    CalibrationModel{"mlp", 3, 4608, 0, 0, 0, 0, 4096, 1},
};
constexpr size_t kQuickModels = 2;

// Many small experts, and few large ones. Only their products are timed: the other ops of mixtures
// read indices, and time_kernels() makes up no meaningful ones.
constexpr std::array kGpuMixtures{
    CalibrationModel{"qwen3-30b-a3b", 1, 1792, 14, 7, 0, 5000, 1, 512, "", 64, 4, 640},
    CalibrationModel{"qwen3-30b-a3b", 1, 1792, 14, 7, 0, 5000, 2, 4096, "", 64, 4, 640},
    CalibrationModel{"qwen3-30b-a3b", 1, 2304, 18, 6, 0, 5000, 4, 4096, "", 96, 8, 896},
    CalibrationModel{"qwen3-30b-a3b", 1, 2816, 22, 11, 0, 5000, 2, 4096, "", 32, 4, 2688},
    CalibrationModel{"mixtral-8x7b", 1, 4352, 34, 17, 0, 5000, 2, 4096, "", 8, 2, 12800},
};
constexpr double kSteadySeconds = 0.3;  // until the power limit shows

bool multiplies_for_experts(OpKind op) {
  return op == OpKind::expert_matmul || op == OpKind::expert_matmul_dw;
}
bool multiplies_for_experts_in_fp8(OpKind op) {
  return op == OpKind::expert_matmul_fp8 || op == OpKind::expert_matmul_dw_fp8 ||
         op == OpKind::quantize_pool || op == OpKind::largest_pool_entry;
}

struct TimedModel {
  std::vector<KernelTime> kernels;
  double step_seconds = 0;

  double kernel_seconds() const {
    return std::accumulate(
        kernels.begin(), kernels.end(), 0.0,
        [](double sum, const KernelTime& each) { return sum + each.calls * each.seconds; });
  }
};

// By the GPU's clock, when it is as warm as steps make it.
double step_seconds(Executor& executor) {
  constexpr double kWarmSeconds = 1, kMeasuredSeconds = 0.5;
  std::vector<double> steps;
  const auto begin = std::chrono::steady_clock::now();
  for (int step = 1; seconds_since(begin) < kWarmSeconds + kMeasuredSeconds; ++step) {
    run_train_step(executor, {.learning_rate = 1e-4, .step = step});
    const double seconds = executor.rank_times().front().run_seconds;
    if (step > 3 && seconds_since(begin) > kWarmSeconds) steps.push_back(seconds);
  }
  return median(steps);
}

TimedModel timed(const Device& gpu, const CalibrationModel& made, Precision precision) {
  const RunSpec spec = resolve(
      config_of(made, {fmt::format("train.precision={}", name(precision)), "run.device=cuda"}));
  Compiled compiled = compile(spec);
  TimedModel result{
      .kernels = gpu.time_kernels(compiled.program(), "train_step", [](OpKind) { return true; })};
  std::erase_if(result.kernels, [](const KernelTime& each) { return each.seconds == 0; });
  const std::unique_ptr<Executor> executor = make_executor(spec, std::move(compiled.programs));
  initialise_states(*executor, 1);
  write_benchmark_batch(*executor, spec.model.vocabulary);
  result.step_seconds = step_seconds(*executor);
  return result;
}

bool attends(OpKind op) { return op == OpKind::attention || op == OpKind::attention_grad; }

// Some kernels of a model whose step is not run: on a GPU that they have warmed.
void add_alone(const Device& gpu, const CalibrationModel& made, const KernelCost& kernels,
               const std::function<bool(OpKind)>& wanted, EfficiencySamples& samples,
               Precision precision = DType::Bf16) {
  const RunSpec spec = resolve(
      config_of(made, {fmt::format("train.precision={}", name(precision)), "run.device=cuda"}));
  for (const KernelTime& each :
       gpu.time_kernels(compile(spec).program(), "train_step", wanted, kSteadySeconds))
    if (each.seconds > 0)
      samples.add(kernels, {each.op, each.attributes, each.operands, each.results}, each.seconds);
}

ClusterDevice measured_gpu(const Device& gpu, const DeviceFacts& facts) {
  ClusterDevice device{.name = facts.name,
                       .memory_bytes = {facts.memory_bytes, "the driver"},
                       .memory_bandwidth = {gpu.copy_rate(), "measured, a copy of 1 GiB"},
                       .launch_seconds = {0, "within the kernels' seconds"},
                       .overlap_slowdown = {0.1, "assumed"}};
  const std::string source = "measured, a large matmul";
  // bf16 on a cool GPU, as ever: fp8 heats it.
  for (const DType dtype : {DType::Bf16, DType::Fp32, DType::Fp64})
    device.peak_flops.push_back({arithmetic_of(dtype), {gpu.matmul_rate(dtype, 1), source}});
  const Precision fp8(DType::Bf16, /*is_pure=*/false, /*with_fp8=*/true);
  if (facts.has_fp8)
    device.peak_flops.push_back({Arithmetic::Fp8, {gpu.matmul_rate(fp8, 1), source}});
  return device;
}

// Kernels by themselves, stretched to fill the step. In fp8 its products and what makes their
// operands are new.
void add_samples(const TimedModel& model, const KernelCost& kernels,
                 const std::function<bool(OpKind)>& wanted, EfficiencySamples& samples) {
  const double stretch = model.step_seconds / model.kernel_seconds();
  for (const KernelTime& each : model.kernels)
    if (wanted(each.op))
      samples.add(kernels, {each.op, each.attributes, each.operands, each.results},
                  stretch * each.seconds);
}

}  // namespace

Cluster calibrate_gpu(const CalibrateOptions& options) {
  const auto say = [&](std::string_view text) {
    if (options.progress) options.progress(text);
  };
  say("peaks of the GPU");
  const Device& gpu = require_device(DeviceKind::Cuda);
  const DeviceFacts facts = gpu.facts();
  Cluster cluster{.name = options.name, .calibrated = true, .device = measured_gpu(gpu, facts)};
  cluster.levels = {{.name = "gpu",
                     .ranks = 1,
                     .bandwidth = {cluster.device.memory_bandwidth.value, "one GPU: not used"},
                     .latency_seconds = {0, "one GPU: not used"}}};
  const KernelCost kernels(cluster, {});
  EfficiencySamples samples;
  const size_t count = options.quick ? kQuickModels : kGpuModels.size();
  for (size_t i = 0; i < count; ++i) {
    say(fmt::format("kernels of model {} of {}", i + 1, count));
    const auto measure = [&](Precision precision, const std::function<bool(OpKind)>& wanted) {
      const TimedModel model = timed(gpu, kGpuModels[i], precision);
      say(fmt::format("  a step in {} takes {:.3f} times its kernels", name(precision),
                      model.step_seconds / model.kernel_seconds()));
      add_samples(model, kernels, wanted, samples);
    };
    measure(DType::Bf16, [](OpKind) { return true; });
    if (facts.has_fp8)
      measure({DType::Bf16, false, true}, [](OpKind op) {
        return op == OpKind::matmul_fp8 || op == OpKind::quantize || op == OpKind::largest_entry;
      });
  }
  for (const CalibrationModel& made :
       std::span(kGpuMixtures).first(options.quick ? 1 : kGpuMixtures.size())) {
    say(fmt::format("products of {} experts", made.experts));
    add_alone(gpu, made, kernels, multiplies_for_experts, samples);
    if (facts.has_fp8)
      add_alone(gpu, made, kernels, multiplies_for_experts_in_fp8, samples,
                {DType::Bf16, false, true});
  }
  for (const CalibrationModel& made :
       long_models().first(options.quick ? 1 : long_models().size())) {
    say(fmt::format("attention over {} tokens, heads of {}", made.seq, made.width / made.heads));
    add_alone(gpu, made, kernels, attends, samples);
  }
  samples.add_tables({.threads = 0, .ranks = 0}, cluster.efficiencies);
  cluster.efficiencies.push_back(other_table(cluster.efficiencies));
  return cluster;
}

}  // namespace tessera
