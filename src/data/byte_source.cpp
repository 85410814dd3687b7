// SPDX-License-Identifier: Apache-2.0
#include "data/byte_source.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {

ByteSource::ByteSource(const std::filesystem::path& path) : documents_(path) {
  for (const std::string_view document : documents_.all())
    begins_.push_back(begins_.back() + static_cast<int64_t>(document.size()));
}

void ByteSource::read(int64_t begin, std::span<int32_t> tokens,
                      std::span<uint8_t> opens_document) const {
  const int64_t end = begin + static_cast<int64_t>(tokens.size());
  TESSERA_CHECK(begin >= 0 && end <= num_tokens(), "tokens {} to {} of {}", begin, end,
                num_tokens());
  std::fill(opens_document.begin(), opens_document.end(), uint8_t{0});
  auto index = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) -
                                   begins_.begin() - 1);
  for (int64_t at = begin; at < end; ++index) {
    if (at == begins_[index] && !opens_document.empty())
      opens_document[static_cast<size_t>(at - begin)] = 1;
    const std::string_view text = documents_.all()[index];
    for (const int64_t stop = std::min(end, begins_[index + 1]); at < stop; ++at)
      tokens[static_cast<size_t>(at - begin)] =
          static_cast<unsigned char>(text[static_cast<size_t>(at - begins_[index])]);
  }
}

}  // namespace tessera
