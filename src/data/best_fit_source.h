// SPDX-License-Identifier: Apache-2.0
// Reorders the documents of a source, so that windows of seq tokens hold whole documents: the
// longest first, each into the fullest window that has room for it (best-fit decreasing). Those
// that begin among the held-out tokens share no window with the others. The order depends only on
// the source, seq and held_out.
#pragma once

#include <memory>
#include <vector>

#include "data/token_source.h"

namespace tessera {

// A document longer than seq is cut into windows and a remainder. Leftover space is filled with
// tokens that are separate documents, and so have no label.
class BestFitSource : public TokenSource {
 public:
  // Reads the whole source once, to find its documents.
  BestFitSource(std::unique_ptr<TokenSource> source, int64_t seq, double held_out = 0);

  int64_t num_tokens() const override;  // of all windows, and one after the last
  int64_t vocabulary_size() const override { return source_->vocabulary_size(); }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;
  void read_learned(int64_t begin, std::span<uint8_t> learned) const override;
  std::optional<int64_t> held_out_begin() const override { return held_out_begin_; }

 private:
  struct Piece {
    int64_t begin, length;  // in the source
  };
  std::vector<Piece> find_pieces() const;
  void pack(std::span<Piece> pieces);  // into new windows

  struct Stretch {  // of one document
    int64_t at, in_source, length;
    bool opens;  // the document
  };
  // Those among tokens [begin, end); the rest of them is leftover space.
  template <typename F>
  void for_each_stretch(int64_t begin, int64_t end, F f) const;

  std::unique_ptr<TokenSource> source_;
  int64_t seq_;
  std::vector<std::vector<Piece>> windows_;
  std::optional<int64_t> held_out_begin_;
};

}  // namespace tessera
