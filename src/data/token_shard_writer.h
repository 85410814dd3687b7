// SPDX-License-Identifier: Apache-2.0
// Writes one .bin file of tokens in llm.c's format: uint16 if the vocabulary allows it, else
// uint32. It appears complete or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace tessera {

void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary);

}  // namespace tessera
