// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/transfer.h"

#include <algorithm>

#include "core/error.h"
#include "files/digest.h"

namespace tessera {
namespace {

constexpr auto kPiece = static_cast<int64_t>(kPieceBytes);

UserError foreign_piece(const char* what) {
  return user_error("a piece of what islands exchange {}", what)
      .help("see that each island has an index of its own");
}

}  // namespace

int64_t piece_count(int64_t size) { return (size + kPiece - 1) / kPiece; }

IncomingBlob::IncomingBlob(int64_t size, std::string digest)
    : size_(size),
      missing_(static_cast<size_t>(piece_count(size))),
      digest_(std::move(digest)),
      bytes_(static_cast<size_t>(size)),
      there_(missing_, false) {}

void IncomingBlob::add(const Message& piece) {
  if (piece.size != size_) throw foreign_piece("has another size than the first one said");
  if (piece.digest != digest_) throw foreign_piece("is of other bytes than the first one");
  const int64_t count = std::min(kPiece, size_ - piece.offset);
  if (piece.offset % kPiece != 0 || piece.offset >= size_ ||
      static_cast<int64_t>(piece.bytes.size()) != count)
    throw foreign_piece("does not begin and end where pieces do");
  const auto index = static_cast<size_t>(piece.offset / kPiece);
  if (there_[index]) return;
  std::ranges::copy(piece.bytes, bytes_.begin() + piece.offset);
  there_[index] = true;
  received_ += count;
  --missing_;
}

int64_t IncomingBlob::next_missing(int64_t offset) const {
  auto index = static_cast<size_t>(piece_count(offset));
  while (index < there_.size() && there_[index]) ++index;
  return std::min(size_, static_cast<int64_t>(index) * kPiece);
}

std::vector<std::byte> IncomingBlob::take() {
  TESSERA_CHECK(has_all());
  if (digest_of(bytes_) != digest_)
    throw user_error("what islands exchange was changed on its way: its digest differs")
        .help("see that each island has an index of its own");
  return std::move(bytes_);
}

Message piece_of(Message of, const std::vector<std::byte>& blob, const std::string& digest,
                 int64_t offset) {
  of.size = static_cast<int64_t>(blob.size());
  of.offset = offset;
  of.digest = digest;
  const int64_t count = std::clamp(of.size - offset, int64_t{0}, kPiece);
  of.bytes.assign(blob.begin() + offset, blob.begin() + offset + count);
  return of;
}

}  // namespace tessera
