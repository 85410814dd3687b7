// SPDX-License-Identifier: Apache-2.0
#include "train/data/encoded_text.h"

#include <algorithm>

#include "files/mapped_file.h"
#include "tokenizer/encoder.h"

namespace tessera {

EncodedText::EncodedText(const std::filesystem::path& text, const Tokenizer& tokenizer) {
  const MappedFile file(text);
  Encoder(tokenizer).encode(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, tokens_);
  for (const int32_t token : tokens_)
    vocabulary_size_ = std::max<int64_t>(vocabulary_size_, token + int64_t{1});
}

void EncodedText::read(int64_t begin, std::span<int32_t> tokens,
                       std::span<uint8_t> opens_document) const {
  std::copy_n(tokens_.begin() + begin, tokens.size(), tokens.begin());
  for (size_t i = 0; i < opens_document.size(); ++i)
    opens_document[i] = begin + static_cast<int64_t>(i) == 0;
}

}  // namespace tessera
