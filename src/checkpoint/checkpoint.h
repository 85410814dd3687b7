// SPDX-License-Identifier: Apache-2.0
// A stored checkpoint, open for reading: a step's folder, or one safetensors file that holds every
// tensor unsharded. Each rank reads its own pieces directly from the mapped files.
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/run_identity.h"
#include "checkpoint/state_source.h"
#include "comm/communicator.h"
#include "files/safetensors.h"

namespace tessera {

class Checkpoint : public StateSource {
 public:
  // Reads the manifest and checks that every file exists; only `verify` checks the bytes of
  // tensors.
  explicit Checkpoint(std::filesystem::path where);

  const Manifest& manifest() const { return manifest_; }
  const CheckpointFacts& facts() const override { return manifest_.facts; }

  // Compares every byte of every `parts`th file, starting with file `part`, with its digest; a
  // UserError names what differs.
  void verify(int part = 0, int parts = 1) const;

  // Loads every state of the ranks in this process, but those that are stored with the model that
  // the run began from; a UserError if one is missing, unexpected, or has another shape or dtype.
  void load_states(Executor& executor) const;
  std::string digest() const override;  // of the digests of its files

 private:
  struct Source {
    size_t file = 0;
    const StoredPiece* piece = nullptr;
  };
  void index_tensors();
  const SafetensorsReader& reader(size_t file) const;
  void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                        const Overlap& f) const override;

  Manifest manifest_;
  std::map<std::string, std::vector<Source>> sources_;
  mutable std::vector<std::unique_ptr<SafetensorsReader>> readers_;  // by file, opened when needed
};

// Finds the checkpoint to resume from: the newest one whose digests all match.
struct NewestValid {
  std::optional<Checkpoint> checkpoint;
  std::vector<std::string> skipped;  // what is wrong with each newer one
};

// Considers checkpoints that `run` may resume from; null: all. The processes of a job share the
// reading and agree; null: a single process. Later steps than `last_step` are left alone. A
// StorageError if none is valid and one could not be read.
NewestValid newest_valid(const std::filesystem::path& checkpoints, const RunIdentity* run = nullptr,
                         Communicator* peers = nullptr,
                         int64_t last_step = std::numeric_limits<int64_t>::max());

}  // namespace tessera
