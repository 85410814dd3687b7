// SPDX-License-Identifier: Apache-2.0
// One file of a checkpoint: parts of tensors as a safetensors file, those that one rank owns. What
// is said of it is taken from memory before it is written, so that reading it back checks the way
// to the disk, too.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/manifest.h"
#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/file_reader.h"
#include "files/safetensors_reader.h"

namespace tessera {

// The bytes of the i-th piece; asked for again and again, for the digests and to write them.
using PieceBytes = std::function<std::span<const std::byte>(size_t)>;

// Fills in the digests.
StoredFile write_shard(const std::filesystem::path& folder, int rank,
                       std::vector<StoredPiece> pieces, const PieceBytes& bytes_of,
                       FileWatch watch = {});

// Opens a file and checks its size and header; a UserError names what differs.
SafetensorsReader open_shard(const std::filesystem::path& folder, const StoredFile& file);
// The bytes of a tensor as the disk gives them, by calls: what it does not give is a UserError.
void add_stored(Digest& digest, const SafetensorsReader& reader, const SafetensorsTensor& tensor,
                const FileReader& file);
// And every tensor's bytes.
void verify_shard(const std::filesystem::path& folder, const StoredFile& file);

}  // namespace tessera
