// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/blob_traffic.h"

#include "files/digest.h"

namespace tessera {

Upload::Upload(Message about, std::vector<std::byte> bytes)
    : about_(std::move(about)), bytes_(std::move(bytes)), digest_(digest_of(bytes_)) {}

std::optional<Message> Upload::next_piece() {
  if (again_.empty() && next_ >= bytes()) return std::nullopt;
  const int64_t offset = again_.empty() ? next_ : *again_.begin();
  again_.erase(offset);
  under_way_.insert(offset);
  Message piece = piece_of(about_, bytes_, digest_, offset);
  if (offset == next_) next_ += static_cast<int64_t>(piece.bytes.size());
  return piece;
}

void Upload::acknowledge(int64_t offset) {
  if (under_way_.erase(offset) + again_.erase(offset) > 0) ++taken_;
}

void Upload::begin_again() {
  next_ = 0, taken_ = 0;
  under_way_.clear(), again_.clear();
}

void Upload::repeat() { again_.merge(under_way_); }

Download::Download(Message wanted, int64_t size, std::string digest)
    : wanted_(std::move(wanted)), size_(size) {
  if (!digest.empty()) blob_.emplace(size, std::move(digest));
}

std::optional<Message> Download::next_request() {
  if (blob_) next_ = blob_->next_missing(next_);
  if (next_ >= size_) return std::nullopt;
  Message request = wanted_;
  request.size = size_;
  request.offset = next_;
  under_way_.insert(next_);
  next_ += static_cast<int64_t>(kPieceBytes);
  return request;
}

void Download::add(const Message& part) {
  if (part.blob != wanted_.blob || part.round != wanted_.round ||
      part.fragment != wanted_.fragment || part.text != wanted_.text)
    return;
  if (!blob_) blob_.emplace(size_, part.digest);
  blob_->add(part);
  under_way_.erase(part.offset);
}

}  // namespace tessera
