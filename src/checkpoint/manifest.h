// SPDX-License-Identifier: Apache-2.0
// The manifest of a checkpoint: facts about the run, and every file with its size, its parts of
// tensors and their digests. It is written last, so a checkpoint with a manifest is complete; it
// has a digest of its own bytes, so a changed manifest is rejected.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tensor_piece.h"
#include "core/dtype.h"
#include "files/digest.h"

namespace tessera {

struct CheckpointPosition {
  int64_t step = 0;         // steps done
  int64_t next_sample = 0;  // of the training data
  int64_t tokens = 0;       // trained on so far
};

// Facts about the run when it saved.
struct CheckpointFacts {
  CheckpointPosition position;
  int64_t seed = 0;  // all random numbers follow from it and an index
  std::string mesh;  // on which it was saved; "1" for one rank
  std::string config_toml;
  std::string run = {};  // the id of the run that saved it; empty: unknown
  // The digest of the model that holds the weights that are left out here: lora.base in the config.
  std::string base = {};  // empty: nothing is left out
};

// "mesh dp=2", "one rank"
std::string saved_on(const CheckpointFacts& facts);

struct StoredPiece {
  std::string name;  // of the state
  DType dtype = DType::Fp32;
  Shape shape = {};  // of the whole tensor
  TensorPiece piece = {};
  std::string digest = {};
};

struct StoredFile {
  std::string name;  // in the folder of the manifest
  int64_t bytes = 0;
  std::string digest = {};  // of the whole file; empty before format 3
  std::string header_digest = {};
  std::vector<StoredPiece> pieces = {};
  DigestKind digest_kind = DigestKind::Xxh3;
};

struct Manifest {
  CheckpointFacts facts;
  std::vector<StoredFile> files = {};

  int64_t bytes() const;  // of all files
};

std::string to_text(const Manifest& manifest);
// A UserError that names `path` if the text is not a complete manifest.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& path);

// What a rank sends to the one that writes the manifest.
std::string to_text(const std::vector<StoredFile>& files);
std::vector<StoredFile> parse_files(std::string_view text);

}  // namespace tessera
