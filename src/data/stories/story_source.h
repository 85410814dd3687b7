// SPDX-License-Identifier: Apache-2.0
// A given amount of story text, as bytes. Nothing is stored: the text is laid out in pages, each a
// pure function of (seed, page), so that any position is read at the cost of one page. A page holds
// whole stories and ends with good nights.
#pragma once

#include <cstdint>

#include "data/token_source.h"

namespace tessera {

class StorySource : public TokenSource {
 public:
  static constexpr int64_t kPageBytes = 16 * 1024;

  // `bytes` is rounded up to whole pages.
  StorySource(uint64_t seed, int64_t bytes);

  int64_t num_tokens() const override { return num_pages_ * kPageBytes; }
  int64_t vocabulary_size() const override { return 256; }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;

 private:
  uint64_t seed_;
  int64_t num_pages_;
};

}  // namespace tessera
