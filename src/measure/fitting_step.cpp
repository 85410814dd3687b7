// SPDX-License-Identifier: Apache-2.0
#include "measure/fitting_step.h"

#include "config/compile_step.h"
#include "exec/device.h"

namespace tessera {
namespace {

double gigabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

std::string change_text(const Config& from, const Config& to) {
  std::string text;
  if (to.train.microbatches != from.train.microbatches)
    text = fmt::format("train.microbatches = {}", to.train.microbatches);
  if (to.plan.recompute != from.plan.recompute)
    text +=
        fmt::format("{}plan.recompute = \"{}\"", text.empty() ? "" : " with ", to.plan.recompute);
  return text;
}

}  // namespace

std::string fitting_change(const Config& config, int64_t limit_bytes,
                           const BytesOfPrograms& bytes) {
  Config tried = config;
  for (const std::string& recompute :
       {config.plan.recompute, std::string("block_keep_attention"), std::string("block")}) {
    tried.plan.recompute = recompute;
    for (int64_t count = config.train.microbatches; count <= config.train.batch; count *= 2) {
      tried.train.microbatches = count;
      const std::string change = change_text(config, tried);
      if (change.empty()) continue;
      try {
        const int64_t needed = bytes(compile(resolve(tried)).programs);
        if (needed <= limit_bytes)
          return fmt::format("{} would need {:.2f} GB", change, gigabytes(needed));
      } catch (const UserError&) {
        break;  // the batch, or a rank's share of it, does not divide so
      }
    }
  }
  return "";
}

std::unique_ptr<Executor> make_fitting_executor(const Config& config, const RunSpec& spec,
                                                std::vector<Program> programs,
                                                ExecutorOptions options, RankWorld* world) {
  try {
    return make_executor(spec, std::move(programs), std::move(options), world);
  } catch (const DeviceMemoryError& error) {
    if (world) throw;  // the ranks of a job would each look for it
    const Device& device = require_device(spec.device);
    const std::string change =
        fitting_change(config, error.free_bytes(),
                       [&](std::span<const Program> tried) { return device.bytes_of(tried); });
    throw user_error("{}", error.message())
        .help(change.empty() ? "use a smaller batch, sequence or model: more microbatches and "
                               "rebuilt blocks are not enough"
                             : change);
  }
}

}  // namespace tessera
