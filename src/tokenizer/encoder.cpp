// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/encoder.h"

#include <span>

namespace tessera {

void Encoder::encode(std::string_view text, std::vector<int32_t>& ids) {
  ids_ = &ids;
  cut_text(text);
}

std::vector<int32_t> Encoder::encode(std::string_view text) {
  std::vector<int32_t> ids;
  encode(text, ids);
  return ids;
}

void Encoder::word(std::string_view word) {
  if (const auto known = cache_.find(word)) {
    ids_->insert(ids_->end(), known->begin(), known->end());
    return;
  }
  const size_t begin = ids_->size();
  tokenizer_.model().encode_word(word, *ids_, scratch_);
  cache_.add(word, std::span(*ids_).subspan(begin));
}

}  // namespace tessera
