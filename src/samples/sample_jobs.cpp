// SPDX-License-Identifier: Apache-2.0
#include "samples/sample_jobs.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/choices.h"
#include "core/error.h"
#include "sim/cluster.h"

namespace tessera {
namespace {

using Names = std::string_view;
constexpr std::array<Names, 4> kPretrain{"laptop", "one_gpu", "eight_gpus", "slurm_64_gpus"};
constexpr std::array<Names, 1> kContinue{"continued_training"};
constexpr std::array<Names, 1> kFineTune{"fine_tune_lora"};
constexpr std::array<Names, 1> kLongContext{"long_context"};
constexpr std::array<Names, 1> kExperts{"experts"};
constexpr std::array<Names, 1> kOffload{"offload"};
constexpr std::array<Names, 1> kProve{"proofs_in_ci"};

constexpr std::array kJobs{
    SampleJob{"pretrain", "train a model from random weights", kPretrain},
    SampleJob{"continue", "train a stored model on much new text", kContinue, true},
    SampleJob{"fine_tune", "train adapters (LoRA) beside a stored model", kFineTune, true},
    SampleJob{"long_context", "teach a stored model longer samples", kLongContext, true},
    SampleJob{"experts", "train a mixture of experts from random weights", kExperts},
    SampleJob{"offload", "train more model than a GPU holds, with the host's memory", kOffload,
              true},
    SampleJob{"prove", "show that a plan computes what one rank would", kProve, false, true},
};

bool is_for(const SampleConfig& sample, SampleMachine::Device device) {
  using Device = SampleMachine::Device;
  if (device == Device::Any) return true;
  return (load_cluster(sample.cluster).device.cores > 0) == (device == Device::Cores);
}

}  // namespace

std::span<const SampleJob> sample_jobs() { return kJobs; }

std::vector<std::string> job_names() {
  std::vector<std::string> names;
  for (const SampleJob& job : kJobs) names.emplace_back(job.name);
  return names;
}

const SampleJob& find_job(std::string_view name) {
  for (const SampleJob& job : kJobs)
    if (same_word(job.name, name)) return job;
  const std::string near = nearest_name(name, job_names());
  throw user_error("there is no job {}{}", name, near.empty() ? "" : ": did you mean " + near + "?")
      .help("use " + join_choices(job_names()));
}

SampleConfig sample_of(const SampleJob& job, const SampleMachine& machine) {
  const std::vector<SampleConfig> all = sample_configs();
  std::optional<SampleConfig> best;
  for (const std::string_view name : job.samples) {
    const auto sample = std::ranges::find(all, name, &SampleConfig::name);
    TESSERA_CHECK(sample != all.end(), "no sample {}", name);
    const bool fits_better = best && is_for(*sample, machine.device) &&
                             (!is_for(*best, machine.device) ||
                              (sample->ranks <= machine.ranks && sample->ranks > best->ranks));
    if (!best || fits_better) best = *sample;
  }
  return *best;
}

}  // namespace tessera
