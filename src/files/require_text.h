// SPDX-License-Identifier: Apache-2.0
// Data that is given as text, and is none: compressed, columns, weights, images. Read as bytes it
// would train a model on garbage, without a word.
#pragma once

#include <filesystem>
#include <span>

namespace tessera {

// A UserError that says what the file looks like and what to do, where its first bytes are those of
// a known format or hold a zero byte, which no text has.
void require_text(std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace tessera
