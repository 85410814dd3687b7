// SPDX-License-Identifier: Apache-2.0
#include "train/data/byte_source.h"

#include <algorithm>

#include "core/error.h"
#include "files/files_below.h"

namespace tessera {

namespace fs = std::filesystem;

ByteSource::ByteSource(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw user_error("no file or folder {}", path.string())
        .at("data.path")
        .help("give a text file or a folder of them, or data.source=stories for built-in text");
  }
  const bool folder = fs::is_directory(path, ignored);
  for (fs::path& file : folder ? files_below(path) : std::vector<fs::path>{path}) {
    MappedFile mapped(std::move(file));
    if (mapped.bytes().empty()) continue;
    begins_.push_back(begins_.back() + static_cast<int64_t>(mapped.bytes().size()));
    files_.push_back(std::move(mapped));
  }
  if (files_.empty())
    throw user_error("{} holds no text", path.string())
        .at("data.path")
        .help("give a text file or a folder of them; hidden files are not read");
}

void ByteSource::read(int64_t begin, std::span<int32_t> tokens,
                      std::span<uint8_t> opens_document) const {
  const int64_t end = begin + static_cast<int64_t>(tokens.size());
  TESSERA_CHECK(begin >= 0 && end <= num_tokens(), "tokens {} to {} of {}", begin, end,
                num_tokens());
  std::fill(opens_document.begin(), opens_document.end(), uint8_t{0});
  auto file = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) -
                                  begins_.begin() - 1);
  for (int64_t at = begin; at < end; ++file) {
    if (at == begins_[file] && !opens_document.empty())
      opens_document[static_cast<size_t>(at - begin)] = 1;
    const auto bytes = files_[file].bytes();
    for (const int64_t stop = std::min(end, begins_[file + 1]); at < stop; ++at)
      tokens[static_cast<size_t>(at - begin)] =
          static_cast<int32_t>(bytes[static_cast<size_t>(at - begins_[file])]);
  }
}

}  // namespace tessera
