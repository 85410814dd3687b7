// SPDX-License-Identifier: Apache-2.0
// A source that holds out its last documents: the first of them is the first that begins among the
// last tokens of a given share, so that no document is on both sides.
#pragma once

#include <memory>
#include <optional>

#include "data/token_source.h"

namespace tessera {

class DocumentBorder : public TokenSource {
 public:
  // A UserError if no document begins there.
  DocumentBorder(std::unique_ptr<TokenSource> source, double held_out, int64_t seq);

  int64_t num_tokens() const override { return source_->num_tokens(); }
  int64_t vocabulary_size() const override { return source_->vocabulary_size(); }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override {
    source_->read(begin, tokens, opens_document);
  }
  std::optional<int64_t> held_out_begin() const override { return border_; }

 private:
  std::unique_ptr<TokenSource> source_;
  int64_t border_ = 0;
};

}  // namespace tessera
