// SPDX-License-Identifier: Apache-2.0
// What people write a config for, as a table: a job has the samples that it begins from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samples/sample_config.h"

namespace tessera {

struct SampleJob {
  std::string_view name, doc;
  std::span<const std::string_view> samples;  // from the smallest machine to the largest
  bool continues = false;                     // begins from stored weights
  bool proves = false;                        // is verified, not trained
};

std::span<const SampleJob> sample_jobs();
std::vector<std::string> job_names();
const SampleJob& find_job(std::string_view name);  // a UserError that lists them when absent

struct SampleMachine {
  enum class Device { Any, Cores, Gpus };

  int ranks = 0;  // 0: not known
  Device device = Device::Any;
};
// Of the job's samples for such devices, the largest that has at most as many ranks; else the
// first.
SampleConfig sample_of(const SampleJob& job, const SampleMachine& machine);

}  // namespace tessera
