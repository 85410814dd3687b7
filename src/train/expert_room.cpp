// SPDX-License-Identifier: Apache-2.0
#include "train/expert_room.h"

#include <chrono>
#include <cmath>

#include "checkpoint/snapshot.h"
#include "core/quantities.h"
#include "exec/device.h"
#include "exec/train_step.h"
#include "mesh/expert_axes.h"
#include "system/process.h"
#include "system/seconds_since.h"

namespace tessera {

double room_for_need(double room, double need) { return std::ceil(1.1 * need * room * 16) / 16; }

ExpertRoom::ExpertRoom(const Config& config, const RunFacts& facts, Executor& executor,
                       RunSaver& saver, RunOutputs& outputs)
    : config_(config),
      facts_(facts),
      executor_(executor),
      saver_(saver),
      outputs_(outputs),
      room_(parse_expert_room(config.plan.expert_room)) {}

bool ExpertRoom::grow(int64_t step) {
  constexpr int kMany = 3;
  const double need = read_expert_need(executor_);
  if (!(need > 1)) return false;
  const auto begin = std::chrono::steady_clock::now();
  const double before = std::exchange(room_, room_for_need(room_, need));
  replace_programs(need);
  outputs_.record_room(step, need, room_, seconds_since(begin));
  std::string text = fmt::format(
      "step {}: experts needed {:.3g} times the rows of a pool; repeated with plan.expert_room = "
      "{} instead of {}",
      step, need, room_, before);
  if (++repeats_ == kMany) text += "; set that to have no more repeats";
  outputs_.note(text);
  return true;
}

void ExpertRoom::replace_programs(double need) {
  config_.plan.expert_room = fmt::format("{}", room_);
  const RunSpec spec = resolve(config_);
  saver_.finish();  // what is being written reads states by the old programs
  outputs_.report_saves(saver_);
  try {
    std::vector<Program> programs = compile_beside_snapshot(spec).programs;
    if (is_host(spec.device) && facts_.nodes <= 1)
      require_memory(require_device(spec.device).bytes_of(programs), facts_.node_memory_bytes);
    executor_.replace_programs(std::move(programs), ProgramChange::Memory);
  } catch (const UserError& error) {
    throw user_error(
        "experts need {:.3g} times the rows of their pools, and more room does not "
        "fit: {}",
        need, error.message())
        .help(
            "use more microbatches, a smaller batch, plan.recompute = \"block\", or a stronger "
            "model.balance_loss");
  }
  TrainSummary& summary = outputs_.summary();
  summary.planned_bytes = executor_.planned_bytes() + saver_.snapshot_bytes();
}

}  // namespace tessera
