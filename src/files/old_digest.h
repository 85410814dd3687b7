// SPDX-License-Identifier: Apache-2.0
// The digest of checkpoints before format 3, kept to verify them. It depends on the bytes and on
// where they are cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tessera {

inline constexpr uint64_t kFirstOldDigest = 0x9E3779B97F4A7C15u;

uint64_t add_to_old_digest(
    uint64_t digest, size_t bytes,
    const std::function<std::span<const std::byte>(size_t begin, size_t count)>& part);

}  // namespace tessera
