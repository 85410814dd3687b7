// SPDX-License-Identifier: Apache-2.0
#include "train/run_saver.h"

#include "comm/texts.h"
#include "config/run_spec.h"
#include "system/random_name.h"

namespace tessera {

RunSaver::RunSaver(const Config& config, Executor& executor, RankWorld* world, FaultPlan* faults,
                   const RunStart& start)
    : out_(config.run.out),
      folder_(checkpoints_of(out_)),
      executor_(executor),
      facts_{.position = {},
             .seed = config.train.seed,
             .mesh = to_string(executor.program().mesh),
             .config_toml = to_toml(config)},
      peers_(world ? world->everyone("checkpoints") : nullptr) {
  if (leads()) generation_ = std::make_unique<Generation>(folder_);
  if (leads() && start.base) facts_.base = start.base->digest();
  base_ = start.base;
  identify(start);
  if (config.checkpoint.every > 0) make_writer(config, faults);
}

// The first process knows the folder; the others hear of it.
void RunSaver::identify(const RunStart& start) {
  std::string told;
  if (leads()) {
    new_id_ = start.run_id.empty() ? random_name() : start.run_id;
    if (start.resume) identity_ = read_run_identity(out_).value_or(RunIdentity{});
    if (!start.resume) take_identity({.id = new_id_});
    told = fmt::format("{},{},{}", new_id_, identity_.id, identity_.adopted_step.value_or(-1));
  }
  if (!peers_) return;
  const std::string text = broadcast_string(*peers_, std::move(told));
  const size_t first = text.find(','), second = text.rfind(',');
  new_id_ = text.substr(0, first);
  identity_.id = text.substr(first + 1, second - first - 1);
  const int64_t adopted = std::stoll(text.substr(second + 1));
  if (adopted >= 0) identity_.adopted_step = adopted;
}

void RunSaver::make_writer(const Config& config, FaultPlan* faults) {
  if (leads()) remove_partials(folder_);
  std::string number = generation_ ? std::to_string(generation_->number()) : "";
  if (peers_) number = broadcast_string(*peers_, std::move(number));
  writer_ = std::make_unique<CheckpointWriter>(
      executor_.rank_states(),
      CheckpointWriterOptions{
          .folder = folder_,
          .retention = {.keep = config.checkpoint.keep, .keep_every = config.checkpoint.keep_every},
          // A GPU gives its memory through one stream.
          .threads = is_host(config.run.device) ? resolve_threads(config) : 1,
          .peers = peers_.get(),
          .run = identity_.id.empty() ? new_id_ : identity_.id,
          .generation = std::stoll(number),
          .fence = generation_.get(),
          .faults = faults});
}

NewestValid RunSaver::newest(int64_t last_step) const {
  return newest_valid(folder_, identity_.id.empty() ? nullptr : &identity_, peers_.get(),
                      last_step);
}

bool RunSaver::continue_from(int64_t step) {
  const bool adopts = identity_.id.empty();
  if (adopts) take_identity({.id = new_id_, .adopted_step = step});
  if (writer_) writer_->continue_from(step);
  saved_step_ = step;
  return adopts;
}

void RunSaver::require_base_of(const Checkpoint& checkpoint) const {
  const std::string& saved = checkpoint.facts().base;
  if (!saved.empty() && !base_)
    throw user_error("{} holds adapters alone, and this run has no base",
                     checkpoint.path().string())
        .at("lora.base")
        .help("give the model that they were trained beside: --init-from, or lora.base");
  if (saved.empty() && base_)
    throw user_error("{} holds all weights, but this run takes the frozen ones from {}",
                     checkpoint.path().string(), base_->path().string())
        .at("lora.base")
        .help("leave out lora.base and --init-from");
  if (leads() && saved != facts_.base)
    throw user_error(
        "{} was saved beside other weights than those of {}: their digest was {}, not {}",
        checkpoint.path().string(), base_->path().string(), saved, facts_.base)
        .at("lora.base")
        .help("give the model that the adapters were trained beside");
}

// The folder becomes this run's.
void RunSaver::take_identity(const RunIdentity& identity) {
  identity_ = identity;
  if (leads()) while_newest([&] { write_run_identity(out_, identity_); });
}

void RunSaver::while_newest(const std::function<void()>& act) const {
  if (!generation_)
    act();
  else if (!generation_->while_newest(act))
    throw_taken_over();
}

void RunSaver::require_newest() const {
  if (generation_ && generation_->taken_over()) throw_taken_over();
}

void RunSaver::throw_taken_over() const {
  throw user_error("a newer start of this run has taken over {}; this one, the {}., may not write",
                   folder_.parent_path().string(), generation_->number())
      .help("one run at a time can use a folder: see --out");
}

int64_t RunSaver::snapshot_bytes() const {
  return writer_ ? tessera::snapshot_bytes(executor_.program()) : 0;
}

double RunSaver::save(const CheckpointPosition& position, SideTensors beside) {
  facts_.position = position;
  saved_step_ = position.step;
  facts_.run = identity_.id;
  return writer_->save(facts_, std::move(beside));
}

std::optional<SaveOutcome> RunSaver::take_outcome() {
  return writer_ ? writer_->take_outcome() : std::nullopt;
}

void RunSaver::finish() {
  if (writer_) writer_->finish();
}

}  // namespace tessera
