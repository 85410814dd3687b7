// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/testing/small_machine.h"

#include "config/compile_step.h"
#include "data/synthetic_batch.h"
#include "exec/make_executor.h"
#include "exec/train_step.h"

namespace tessera {

SmallMachine::SmallMachine(std::vector<std::string> overrides, RankWorld* world) {
  std::vector<std::string> all{"model.preset=gpt2-124m", "model.layers=3",       "model.width=32",
                               "model.heads=4",          "model.vocabulary=255", "model.context=32",
                               "train.batch=4",          "train.microbatches=2", "train.seq=16",
                               "train.ema_decay=0.9",    "train.precision=fp32", "train.threads=1"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const RunSpec spec = resolve(load_config(std::nullopt, all));
  vocabulary_ = spec.model.vocabulary;
  executor_ = make_executor(spec, compile(spec).programs, {}, world);
  initialise_states(*executor_, 1);
}

double SmallMachine::train_step(int64_t step) {
  write_verification_batch(*executor_, step, {.seed = 5, .vocabulary = vocabulary_});
  return run_train_step(*executor_, {.learning_rate = 0.01, .step = step}).loss;
}

std::map<std::string, std::vector<std::byte>> SmallMachine::states() const {
  std::map<std::string, std::vector<std::byte>> states;
  for (const StateBuffer& state : executor_->program().states) {
    // Elements that are not loaded keep a pattern that no state has.
    auto& bytes = states[state.name];
    bytes.assign(static_cast<size_t>(state.type.bytes()), std::byte{0xff});
    executor_->read_state(state, bytes);
  }
  return states;
}

CheckpointFacts facts_at(int64_t step) {
  return {.position = {.step = step, .next_sample = 4 * step, .tokens = 64 * step},
          .seed = 1,
          .mesh = "1",
          .config_toml = "# of a test\n"};
}

SaveOutcome save(CheckpointWriter& writer, int64_t step, const std::string& run) {
  CheckpointFacts facts = facts_at(step);
  facts.run = run;
  writer.save(facts);
  writer.finish();
  return *writer.take_outcome();
}

SaveOutcome save(SmallMachine& machine, const CheckpointWriterOptions& options, int64_t step,
                 const std::string& run) {
  std::filesystem::create_directories(options.folder);
  CheckpointWriter writer(machine.executor().rank_states(), options);
  return save(writer, step, run);
}

}  // namespace tessera
