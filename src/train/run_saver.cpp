// SPDX-License-Identifier: Apache-2.0
#include "train/run_saver.h"

#include "comm/texts.h"
#include "train/model_of_config.h"

namespace tessera {

RunSaver::RunSaver(const Config& config, Executor& executor, RankWorld* world, FaultPlan* faults)
    : folder_(checkpoints_of(config.run.out)),
      executor_(executor),
      facts_{.position = {},
             .seed = config.train.seed,
             .mesh = to_string(executor.program().mesh),
             .config_toml = to_toml(config)},
      peers_(world ? world->everyone("checkpoints") : nullptr) {
  if (config.checkpoint.every == 0) return;
  if (!peers_ || peers_->rank() == 0) {
    generation_ = std::make_unique<Generation>(folder_);
    remove_partials(folder_);
  }
  std::string number = generation_ ? std::to_string(generation_->number()) : "";
  if (peers_) number = share_text(*peers_, std::move(number));
  writer_ = std::make_unique<CheckpointWriter>(
      executor.rank_states(),
      CheckpointWriterOptions{
          .folder = folder_,
          .retention = {.keep = config.checkpoint.keep, .keep_every = config.checkpoint.keep_every},
          // A GPU gives its memory through one stream.
          .threads = config.run.device == "cpu" ? threads_of_config(config) : 1,
          .peers = peers_.get(),
          .generation = std::stoll(number),
          .fence = generation_.get(),
          .faults = faults});
}

int64_t RunSaver::snapshot_bytes() const {
  return writer_ ? tessera::snapshot_bytes(executor_.program()) : 0;
}

double RunSaver::save(const CheckpointPosition& position) {
  facts_.position = position;
  return writer_->save(facts_);
}

std::optional<SaveOutcome> RunSaver::take_outcome() {
  return writer_ ? writer_->take_outcome() : std::nullopt;
}

void RunSaver::finish() {
  if (writer_) writer_->finish();
}

}  // namespace tessera
