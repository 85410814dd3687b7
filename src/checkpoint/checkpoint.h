// SPDX-License-Identifier: Apache-2.0
// A stored checkpoint, open for reading: a step's folder, or one safetensors file that holds every
// tensor whole. Each rank reads its own pieces straight from the mapped files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/state_source.h"
#include "files/safetensors_reader.h"

namespace tessera {

class Checkpoint : public StateSource {
 public:
  // Reads the manifest and checks that every file is there; bytes of tensors only by `verify`.
  explicit Checkpoint(std::filesystem::path where);

  const Manifest& manifest() const { return manifest_; }
  const CheckpointFacts& facts() const override { return manifest_.facts; }

  // Every byte against its digest, of every `parts`th file from `part` on; a UserError names what
  // differs.
  void verify(int part = 0, int parts = 1) const;

  // Every state of the ranks in this process; a UserError where one is missing, is too much, or has
  // another shape or dtype.
  void load_states(Executor& executor) const;

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

}  // namespace tessera
