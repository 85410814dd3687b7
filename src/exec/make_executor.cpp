// SPDX-License-Identifier: Apache-2.0
#include "exec/make_executor.h"

#include "exec/device.h"
#include "exec/job_executor.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

// What ranks of this process keep on the host besides their devices' memory, or, where the device
// is the host, in all.
void require_host_memory(std::span<const Program> programs, const RankWorld* world) {
  int64_t bytes = 0;
  const int ranks = programs.front().mesh.num_ranks();
  for (int rank = 0; rank < ranks; ++rank)
    if (!world || world->rank() == rank) bytes += at_place(programs, rank).host_bytes();
  if (bytes == 0) return;
  const int64_t available = available_memory_bytes();
  if (bytes <= available) return;
  throw user_error(
      "the plan keeps {:.2f} GB in the host's memory, of which {:.2f} GB are available",
      static_cast<double>(bytes) / 1e9, static_cast<double>(available) / 1e9)
      .at("plan.offload")
      .help("offload less, or use more hosts");
}

}  // namespace

std::unique_ptr<Executor> make_executor(const RunSpec& spec, std::vector<Program> programs,
                                        ExecutorOptions options, RankWorld* world) {
  const Device& device = require_device(spec.device);
  require_host_memory(programs, world);
  options.threads = spec.threads_per_rank();
  options.repeatable = spec.repeatable;
  if (!world) return device.make_executor(std::move(programs), std::move(options));
  auto own = device.make_rank(at_place(programs, world->rank()), *world, std::move(options));
  return std::make_unique<JobExecutor>(programs, std::move(own), *world);
}

}  // namespace tessera
