// SPDX-License-Identifier: Apache-2.0
#include "data/token_shard_writer.h"

#include <array>
#include <limits>
#include <vector>

#include "core/error.h"
#include "files/atomic_file.h"

namespace tessera {
namespace {

constexpr int64_t kSmallVocabulary = 1 << 16;

}  // namespace

void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary) {
  if (tokens.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    throw user_error("{} would hold {} tokens, but a shard holds at most {}", path.string(),
                     tokens.size(), std::numeric_limits<int32_t>::max())
        .help("cut the text into several files");
  const bool small = vocabulary <= kSmallVocabulary;
  const std::array<int32_t, 256> header{20240520, small ? 1 : 2,
                                        static_cast<int32_t>(tokens.size())};
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  if (small) {
    const std::vector<uint16_t> narrow(tokens.begin(), tokens.end());
    file.write(std::as_bytes(std::span(narrow)));
  } else {
    file.write(std::as_bytes(tokens));
  }
  file.commit();
}

}  // namespace tessera
