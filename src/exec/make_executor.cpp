// SPDX-License-Identifier: Apache-2.0
#include "exec/make_executor.h"

#include "exec/device.h"
#include "exec/job_executor.h"

namespace tessera {

std::unique_ptr<Executor> make_executor(const RunSpec& spec, std::vector<Program> programs,
                                        ExecutorOptions options, RankWorld* world) {
  const Device& device = require_device(spec.device);
  options.threads = spec.threads_per_rank();
  options.repeatable = spec.repeatable;
  if (!world) return device.make_executor(std::move(programs), std::move(options));
  auto own = device.make_rank(at_place(programs, world->rank()), *world, std::move(options));
  return std::make_unique<JobExecutor>(programs, std::move(own), *world);
}

}  // namespace tessera
