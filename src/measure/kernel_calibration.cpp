// SPDX-License-Identifier: Apache-2.0
#include "measure/kernel_calibration.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "config/compile_step.h"
#include "core/statistics.h"
#include "data/synthetic_batch.h"
#include "exec/make_executor.h"
#include "exec/train_step.h"
#include "ir/op_list.h"
#include "measure/efficiency_samples.h"
#include "measure/step_floor.h"
#include "program/mean_types.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// From caches to memory, from short rows to long ones. The axis is that of two ranks, so that ops
// of every kind of mesh are seen; four ranks share the batch.
constexpr std::array kCpuModels{
    CalibrationModel{"gpt2-124m", 2, 96, 3, 3, 384, 600, 4, 40, "dp"},
    CalibrationModel{"gpt2-124m", 2, 320, 5, 5, 1280, 5000, 4, 144, "cp"},
    CalibrationModel{"gpt2-124m", 1, 224, 7, 7, 896, 12000, 4, 96, "dp"},
    CalibrationModel{"gpt2-124m", 1, 576, 18, 18, 2304, 20000, 4, 80, "tp"},
    CalibrationModel{"gpt2-124m", 1, 896, 14, 14, 3584, 40000, 4, 120, "tp"},
    CalibrationModel{"tiny", 2, 96, 6, 2, 288, 320, 8, 96, "tp"},
    CalibrationModel{"tiny", 2, 288, 9, 3, 800, 3000, 4, 320, "cp"},
    CalibrationModel{"tiny", 1, 192, 3, 3, 512, 900, 4, 272, "cp"},
    CalibrationModel{"qwen3-0.6b", 1, 384, 3, 3, 1200, 9000, 4, 200, "dp"},
    CalibrationModel{"tiny", 1, 640, 10, 5, 1700, 400, 4, 640, "cp"},
    CalibrationModel{"tiny-moe", 2, 96, 3, 3, 0, 320, 4, 96, "dp", 8, 2, 96},
    CalibrationModel{"tiny-moe", 1, 192, 6, 3, 0, 600, 8, 256, "dp", 16, 2, 160},
    CalibrationModel{"tiny-moe", 1, 640, 10, 5, 0, 400, 4, 320, "dp", 32, 4, 448},
    CalibrationModel{"tiny-moe", 1, 1152, 9, 9, 0, 900, 4, 128, "dp", 8, 2, 1536},
    CalibrationModel{"mlp", 4, 200, 0, 0, 0, 0, 48, 1, "dp"},
    CalibrationModel{"mlp", 3, 400, 0, 0, 0, 0, 16, 1, "tp"},
    CalibrationModel{"mlp", 4, 600, 0, 0, 0, 0, 96, 1, "tp"},
    CalibrationModel{"mlp", 3, 900, 0, 0, 0, 0, 160, 1, "dp"},
    CalibrationModel{"mlp", 3, 1300, 0, 0, 0, 0, 320, 1, "dp"},
    CalibrationModel{"mlp", 3, 2000, 0, 0, 0, 0, 40, 1, "tp"},
};

constexpr int64_t kQuickWidth = 200;
constexpr int kRounds = 3;  // over all models: a slow moment of the machine spoils few samples

class MadeRun {
 public:
  MadeRun(const CalibrationModel& model, const RankLoad& load) : load_(load) {
    const RunSpec spec = resolve(cpu_calibration_config(model, load));
    seen_.reserve(1 << 16);
    executor_ = make_executor(
        spec, compile(spec).programs,
        {.observer = [this](int rank, const InstructionEvent& event) { observe(rank, event); }});
    initialise_states(*executor_, 1);
    write_benchmark_batch(*executor_, spec.model.vocabulary);
  }

  // Adds to the samples; returns the seconds between two kernels.
  double measure(const Cluster& device, EfficiencySamples& samples) {
    run_step();
    run_step();
    seen_.clear();
    constexpr double kLongSeconds = 0.2;
    double wall = 0;
    for (int i = 0; i < 4 && (i < 1 || wall < kLongSeconds); ++i) wall += run_step();
    double inside = 0;
    const KernelCost kernels(device, load_);
    for (const Seen& seen : seen_) {
      inside += seen.seconds;
      add(seen, kernels, samples);
    }
    return std::max(0.0, wall - inside) / static_cast<double>(seen_.size());
  }

 private:
  struct Seen {
    const ProgramClass* program_class;
    const Instruction* instruction;
    double seconds;
  };

  void observe(int rank, const InstructionEvent& event) {
    if (rank != 0) return;
    if (!event.finished) {
      begin_ = Clock::now();
      return;
    }
    const double seconds = seconds_since(begin_);
    seen_.push_back({&event.program_class, &event.instruction, seconds});
  }

  double run_step() {
    const auto begin = Clock::now();
    run_train_step(*executor_, {.learning_rate = 1e-4, .step = ++step_});
    return seconds_since(begin);
  }

  static void add(const Seen& seen, const KernelCost& kernels, EfficiencySamples& samples) {
    const Instruction& instruction = *seen.instruction;
    const auto* kernel = instruction.as<KernelInstruction>();
    if (!kernel) return;
    const std::vector<TensorType> operands = mean_types_of(*seen.program_class, kernel->operands);
    const std::vector<TensorType> results = mean_types_of(*seen.program_class, kernel->results);
    samples.add(kernels, {kernel->op, kernel->attributes, operands, results}, seen.seconds);
  }

  RankLoad load_;
  std::vector<Seen> seen_;
  std::unique_ptr<Executor> executor_;
  Clock::time_point begin_{};
  int step_ = 0;
};

}  // namespace

std::span<const CalibrationModel> cpu_calibration_models() { return kCpuModels; }

std::vector<RankLoad> cpu_calibration_loads(int cores) {
  std::vector<RankLoad> loads{{.threads = 1, .ranks = 1}};
  if (cores > 1) {
    loads.push_back({.threads = cores, .ranks = 1});
    loads.push_back({.threads = 1, .ranks = 2});
    if (cores >= 4) loads.push_back({.threads = 1, .ranks = 4});
  }
  return loads;
}

Config cpu_calibration_config(const CalibrationModel& model, const RankLoad& load) {
  std::vector<std::string> settings{fmt::format("train.threads={}", load.threads * load.ranks)};
  if (load.ranks > 1)
    settings.push_back(fmt::format("mesh={}={}", load.ranks == 2 ? model.axis : "dp", load.ranks));
  return config_of(model, std::move(settings));
}

KernelCalibration calibrate_kernels(const Cluster& device, int cores, bool quick,
                                    const std::function<void(std::string_view)>& progress) {
  const std::vector<RankLoad> loads = cpu_calibration_loads(cores);
  std::vector<EfficiencySamples> samples(loads.size());
  std::vector<double> launches;
  const int rounds = quick ? 1 : kRounds;
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < kCpuModels.size(); ++i) {
      if (quick && kCpuModels[i].width > kQuickWidth) continue;
      progress(fmt::format("kernels, round {} of {}: model {} of {}", round + 1, rounds, i + 1,
                           kCpuModels.size()));
      for (size_t l = 0; l < loads.size(); ++l) {
        const double launch = MadeRun(kCpuModels[i], loads[l]).measure(device, samples[l]);
        if (loads[l].ranks == 1) launches.push_back(launch);
      }
    }
  KernelCalibration result;
  for (size_t l = 0; l < loads.size(); ++l) samples[l].add_tables(loads[l], result.tables);
  result.tables.push_back(other_table(result.tables));
  result.launch_seconds = median(launches);
  return result;
}

}  // namespace tessera
