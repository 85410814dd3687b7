// SPDX-License-Identifier: Apache-2.0
// A checkpoint: every state by name, the step, the data position and the config, in one safetensors
// file with a digest of all tensor bytes. It appears whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "exec/executor.h"
#include "train/safetensors_reader.h"

namespace tessera {

struct CheckpointPosition {
  int64_t step = 0;         // steps done
  int64_t next_sample = 0;  // of the training data
  int64_t tokens = 0;       // trained on so far
};

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t step);
// The newest checkpoint of a run's folder; nothing when there is none.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& folder);

// What the other processes of a job do meanwhile: read the same states in the same order.
void help_save_checkpoint(const Executor& executor);
void save_checkpoint(const std::filesystem::path& path, const Executor& executor,
                     const CheckpointPosition& position, const std::string& config_toml);
// Removes all but the `keep` newest.
void prune_checkpoints(const std::filesystem::path& folder, int64_t keep);

// An open checkpoint whose bytes have been checked against their digest.
class Checkpoint {
 public:
  explicit Checkpoint(const std::filesystem::path& path);

  const CheckpointPosition& position() const { return position_; }
  const std::string& config_toml() const { return config_toml_; }
  // Every state of the executor's program, in its own dtype; a UserError where one is missing or
  // has another shape.
  void load_states(Executor& executor) const;
  // Parameters alone (for generation), from the moving average where asked.
  void load_parameters(Executor& executor, bool averaged) const;

 private:
  void load(Executor& executor, const StateBuffer& state, const std::string& name) const;
  SafetensorsReader reader_;
  CheckpointPosition position_;
  std::string config_toml_;
};

}  // namespace tessera
