// SPDX-License-Identifier: Apache-2.0
// The manifest of a checkpoint: what it is a checkpoint of, and every file with its size, its
// tensors' parts and their digests. It is written last, so where it is, everything is; it covers
// its own bytes with a digest, so a changed one is refused.
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

// What a run knows of itself when it saves.
struct CheckpointFacts {
  CheckpointPosition position;
  int64_t seed = 0;  // all random numbers follow from it and an index
  std::string mesh;  // that it was saved on; "1" for one rank
  std::string config_toml;
  std::string run = {};  // the id of the run that saved it; empty: none is known
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
  std::string name;  // beside the manifest
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
// A UserError that names `path` where the text is no whole manifest.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& path);

// What a rank tells the one that writes the manifest.
std::string to_text(const std::vector<StoredFile>& files);
std::vector<StoredFile> parse_files(std::string_view text);

}  // namespace tessera
