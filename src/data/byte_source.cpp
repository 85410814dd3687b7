// SPDX-License-Identifier: Apache-2.0
#include "data/byte_source.h"

#include <algorithm>

#include "core/error.h"
#include "data/document_choice.h"

namespace tessera {

ByteSource::ByteSource(const ByteSourceOptions& options) : texts_(options.path, options.field) {
  const std::vector<std::string_view>& all = texts_.all();
  DigestSet seen(options.deduplicate ? all.size() : 0);
  const DocumentSplit split(options.seed, options.held_out);
  std::vector<std::string_view> held_out;
  for (const std::string_view document : all) {
    const bool needs_digest = options.deduplicate || options.held_out > 0;
    const uint64_t digest = needs_digest ? document_digest(document) : 0;
    if (options.deduplicate && seen.add(digest)) continue;
    (split.holds_out(digest) ? held_out : documents_).push_back(document);
  }
  if (options.shuffle) {
    shuffle_documents(documents_, options.seed, kTrainOrder);
    shuffle_documents(held_out, options.seed, kHeldOutOrder);
  }
  const size_t training = documents_.size();
  documents_.insert(documents_.end(), held_out.begin(), held_out.end());
  for (const std::string_view document : documents_)
    begins_.push_back(begins_.back() + static_cast<int64_t>(document.size()));
  if (options.held_out > 0) held_out_begin_ = begins_[training];
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
    const std::string_view text = documents_[index];
    for (const int64_t stop = std::min(end, begins_[index + 1]); at < stop; ++at)
      tokens[static_cast<size_t>(at - begin)] =
          static_cast<unsigned char>(text[static_cast<size_t>(at - begins_[index])]);
  }
}

}  // namespace tessera
