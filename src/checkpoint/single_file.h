// SPDX-License-Identifier: Apache-2.0
// A checkpoint as one safetensors file: every tensor unsharded, the facts and a digest of all
// tensor bytes in the metadata. For sharing; runs save folders.
#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/shard_file.h"

namespace tessera {

Manifest manifest_of_single_file(const SafetensorsReader& reader);
std::string digest_of_single_file(const SafetensorsReader& reader);  // as it says
void verify_single_file(const SafetensorsReader& reader);

void write_single_file(const std::filesystem::path& path, const CheckpointFacts& facts,
                       const std::vector<StoredPiece>& tensors, const PieceBytes& bytes_of);

}  // namespace tessera
