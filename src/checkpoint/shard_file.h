// SPDX-License-Identifier: Apache-2.0
// One file of a checkpoint: the parts of tensors that one rank owns, as a safetensors file. Digests
// are computed from memory before it is written, so that reading it back also checks the path to
// the disk.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/manifest.h"
#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/regular_file.h"
#include "files/safetensors.h"

namespace tessera {

// The bytes of the i-th piece; called several times, for the digests and to write them.
using PieceBytes = std::function<std::span<const std::byte>(size_t)>;

// Fills in the digests.
StoredFile write_shard(const std::filesystem::path& folder, int rank,
                       std::vector<StoredPiece> pieces, const PieceBytes& bytes_of,
                       FileWatch watch = {});

// Opens a file and checks its size and header; a UserError names what differs.
SafetensorsReader open_shard(const std::filesystem::path& folder, const StoredFile& file);
// The bytes of a tensor, read with system calls: an unreadable one is a UserError.
void add_stored(Digest& digest, const SafetensorsReader& reader, const SafetensorsTensor& tensor,
                const FileReader& file);
// The same, and checks every tensor's bytes.
void verify_shard(const std::filesystem::path& folder, const StoredFile& file);

}  // namespace tessera
