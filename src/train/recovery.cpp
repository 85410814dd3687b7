// SPDX-License-Identifier: Apache-2.0
#include "train/recovery.h"

#include <algorithm>
#include <cmath>

#include "core/convert_elements.h"
#include "data/data_files.h"
#include "train/fault_observer.h"
#include "train/resume_changes.h"

namespace tessera {

Recovery::Recovery(const StepParts& parts, StepRunner& runner, RunSaver& saver,
                   CheckpointPosition& position, FaultPlan* faults, IslandRecovery island)
    : parts_(parts),
      runner_(runner),
      saver_(saver),
      position_(position),
      faults_(faults),
      island_(island),
      policy_(parts.config.train.on_non_finite) {}

void Recovery::resume(std::span<const std::string> accepted_changes) {
  RunOutputs& outputs = parts_.outputs;
  const std::string& out = parts_.config.run.out;
  const NewestValid newest = newest_of_all_islands();
  for (const std::string& skipped : newest.skipped)
    outputs.warn_always(fmt::format("warning: skipping a checkpoint: {}", skipped));
  if (!newest.checkpoint)
    throw user_error("there is no valid checkpoint of this run in {}", checkpoints_of(out).string())
        .help("take the weights of another one with --init-from, or start again with --overwrite");
  const Checkpoint& checkpoint = *newest.checkpoint;
  accept_changes(checkpoint.facts(), accepted_changes);
  saver_.require_base_of(checkpoint);
  inject_faults(faults_, FaultPhase::Load, parts_.executor, position_.step);
  checkpoint.load_states(parts_.executor);
  if (island_.exchange) island_.exchange->restore(checkpoint);
  position_ = checkpoint.facts().position;
  outputs.summary().checkpoint = checkpoint.path();
  if (saver_.continue_from(position_.step))
    outputs.note(
        fmt::format("{} was of no run: it is now that of run {}, which never removes what it did "
                    "not write itself",
                    out, saver_.run_id()));
  outputs.note(fmt::format("resumed from {} at step {}, saved on {}", checkpoint.path().string(),
                           position_.step, saved_on(checkpoint.facts())));
}

// The newest step that every island of this process has.
NewestValid Recovery::newest_of_all_islands() const {
  NewestValid newest = saver_.newest();
  if (!island_.group) return newest;
  const auto step_of = [](const NewestValid& found) {
    return found.checkpoint ? found.checkpoint->facts().position.step : -1;
  };
  for (int64_t least = island_.group->least(step_of(newest));;) {
    if (least >= 0 && step_of(newest) > least) newest = saver_.newest(least);
    const int64_t again = island_.group->least(step_of(newest));
    if (again == least) return newest;
    least = again;
  }
}

void Recovery::accept_changes(const CheckpointFacts& saved, std::span<const std::string> keys) {
  const std::vector<ConfigChange> changes = resume_changes(saved, parts_.config);
  require_accepted(changes, keys);
  std::vector<ConfigChange> accepted, free;
  for (const ConfigChange& change : changes)
    (change.changes_numbers ? accepted : free).push_back(change);
  if (!accepted.empty())
    parts_.outputs.warn(fmt::format("continuing with changed settings: {}", to_text(accepted)));
  if (!free.empty())
    parts_.outputs.note(fmt::format("changed since the checkpoint: {}", to_text(free)));
  require_same_data(keys);
}

// The same keys may name other files by now, and sample n would be another. Whoever accepts a
// change of [data] accepts that.
void Recovery::require_same_data(std::span<const std::string> accepted) {
  const Config& config = parts_.config;
  if (!parts_.outputs.writes_files()) return;
  const std::optional<std::vector<DataFile>> before = find_data_files(config.run.out);
  if (!before) return;
  const std::string change = change_of_data(*before, data_files_of(config.data));
  if (change.empty()) return;
  const bool accepts = std::ranges::any_of(
      accepted, [](const std::string& key) { return key == "data" || key.starts_with("data."); });
  if (!accepts)
    throw user_error("the data are not those that this run began with: {}", change)
        .at("data.path")
        .help(
            "bring the old ones back, or continue with what is there: --accept-changes data.path");
  parts_.outputs.warn(fmt::format("continuing with changed data: {}", change));
}

void Recovery::handle_non_finite(StepRecord& record) {
  for (double* each : {&record.loss, &record.grad_norm})
    if (std::isnan(*each)) *each = NAN;  // without a sign, which says nothing
  const std::string what = fmt::format(
      "step {}: the loss is {} and the gradient norm {}; the first that is not finite is {}",
      record.step, record.loss, record.grad_norm, first_non_finite(parts_.executor, record.loss));
  if (policy_ == OnNonFinite::Skip && !std::isfinite(record.grad_norm)) {
    record.skipped = 1;  // the update itself has left everything as it was
    parts_.outputs.warn_always(fmt::format("warning: {}; the step is skipped", what));
  } else if (policy_ == OnNonFinite::Rewind) {
    rewind(what);
  } else {
    throw UserError(what).help(
        "use a smaller train.learning_rate, a longer train.warmup_steps, or train.clip_norm = 1; "
        "or see train.on_non_finite");
  }
}

// Back to the newest checkpoint, and on with the data that follow those of this step.
void Recovery::rewind(const std::string& why) {
  constexpr int kMost = 3;  // to the same checkpoint
  saver_.finish();
  parts_.outputs.report_saves(saver_);
  const int64_t next_sample = position_.next_sample;
  const NewestValid newest = saver_.newest();
  if (!newest.checkpoint)
    throw UserError(why).help(
        "train.on_non_finite is rewind, but there is no checkpoint: see "
        "--save-every");
  const int64_t to = newest.checkpoint->facts().position.step;
  rewinds_ = to == rewound_to_ ? rewinds_ + 1 : 1;
  rewound_to_ = to;
  if (rewinds_ > kMost)
    throw UserError(why).help(fmt::format("{} rewinds to step {} did not help", kMost, to));
  newest.checkpoint->load_states(parts_.executor);
  position_ = newest.checkpoint->facts().position;
  position_.next_sample = next_sample;
  saver_.continue_from(to);
  runner_.load_from(next_sample);
  parts_.outputs.begin_record(saver_, parts_.facts, position_.step);
  parts_.outputs.warn_always(
      fmt::format("warning: {}; back to step {}, on with the data that follow", why, to));
}

namespace {

bool has_only_finite(const TensorType& type, const std::vector<std::byte>& bytes) {
  const std::vector<double> values = to_doubles(type, bytes);
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

std::vector<std::byte> room_for(const TensorType& type) {
  return std::vector<std::byte>(static_cast<size_t>(type.bytes()));
}

// As the step left them.
struct Suspects {
  std::string parameter, gradient;  // empty: all are finite
};

// Gradients are made from the last block to the first. Every process reads all of them: reading is
// a collective.
Suspects find_suspects(const Executor& executor) {
  Suspects found;
  for (const StateBuffer& state : executor.program().states) {
    if (state.spec.role != StateRole::Parameter) continue;
    std::vector<std::byte> bytes = room_for(state.type);
    executor.read_state(state, bytes);
    if (found.parameter.empty() && !has_only_finite(state.type, bytes))
      found.parameter = state.name;
    if (!state.has_gradient()) continue;
    bytes = room_for(state.gradient_type);
    executor.read_gradient(state, bytes);
    if (!has_only_finite(state.gradient_type, bytes)) found.gradient = state.name;
  }
  return found;
}

}  // namespace

// Numbers flow from parameters through the loss to gradients.
std::string first_non_finite(Executor& executor, double loss) {
  const Suspects suspects = find_suspects(executor);
  if (!suspects.parameter.empty()) return suspects.parameter;
  const NonFinite value = executor.find_non_finite("train_step");
  if (value.found) return to_text(value, executor.program().mesh.num_ranks());
  const std::string seen = !std::isfinite(loss)        ? "the loss"
                           : suspects.gradient.empty() ? "the gradient norm"
                                                       : "the gradient of " + suspects.gradient;
  return seen + ", but every value is finite when the step is computed again: this is no overflow";
}

}  // namespace tessera
