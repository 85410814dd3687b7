// SPDX-License-Identifier: Apache-2.0
// A blob that comes in pieces, in any order and some of them twice. Its size is known before the
// first piece, so that no piece can make it larger, and it is whole only when its digest is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "islands/hub/message.h"

namespace tessera {

class IncomingBlob {
 public:
  IncomingBlob() = default;
  IncomingBlob(int64_t size, std::string digest);

  // A UserError where the piece is of another blob, or not where pieces begin and end.
  void add(const Message& piece);
  bool has_all() const { return missing_ == 0; }
  int64_t size() const { return size_; }
  const std::string& digest() const { return digest_; }
  int64_t missing_bytes() const { return size_ - received_; }
  // Where the first missing piece begins that begins at `offset` or later; `size()`: none does.
  int64_t next_missing(int64_t offset) const;
  // The bytes, which leave this blob; a UserError where their digest is another one.
  std::vector<std::byte> take();

 private:
  int64_t size_ = 0, received_ = 0;
  size_t missing_ = 0;  // pieces
  std::string digest_;
  std::vector<std::byte> bytes_;
  std::vector<bool> there_;  // by piece
};

// The piece of a blob that begins at `offset`; fields other than the bytes are those of `of`.
Message piece_of(Message of, const std::vector<std::byte>& blob, const std::string& digest,
                 int64_t offset);
int64_t piece_count(int64_t size);

}  // namespace tessera
