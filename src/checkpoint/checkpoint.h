// SPDX-License-Identifier: Apache-2.0
// A stored checkpoint, open for reading: a step's folder, or one safetensors file that holds every
// tensor whole. States are read by name and global index, each rank its own pieces straight from
// the mapped files, so the mesh that saved and the one that loads need not be alike.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "checkpoint/manifest.h"
#include "exec/executor.h"
#include "files/safetensors_reader.h"

namespace tessera {

class Checkpoint {
 public:
  // Reads the manifest and checks that every file is there; bytes of tensors only by `verify`.
  explicit Checkpoint(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  const CheckpointFacts& facts() const { return manifest_.facts; }

  // Every byte against its digest, of every `parts`th file from `part` on; a UserError names what
  // differs.
  void verify(int part = 0, int parts = 1) const;

  struct Tensor {
    DType dtype = DType::Fp32;
    Shape shape;
    int64_t elements() const { return elements_of(shape); }
  };
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  std::vector<std::byte> read_whole(const std::string& name) const;

  // Every state of the ranks in this process; a UserError where one is missing, is too much, or has
  // another shape or dtype.
  void load_states(Executor& executor) const;
  // Parameters alone (for generation), in the program's dtype; from the moving average where asked.
  void load_parameters(Executor& executor, bool averaged) const;

 private:
  struct Source {
    size_t file = 0;
    const StoredPiece* piece = nullptr;
  };
  void index_tensors();
  const SafetensorsReader& reader(size_t file) const;
  const Tensor& tensor_for(const StateBuffer& state, const std::string& name) const;
  void load(RankStates& rank, const StateBuffer& state, const std::string& name) const;
  template <typename F>
  void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted, F&& f) const;

  std::filesystem::path path_;
  Manifest manifest_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::vector<Source>> sources_;
  mutable std::vector<std::unique_ptr<SafetensorsReader>> readers_;  // by file, opened when needed
};

}  // namespace tessera
