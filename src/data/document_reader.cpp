// SPDX-License-Identifier: Apache-2.0
#include "data/document_reader.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

constexpr size_t kMostOpen = 256;  // files at a time

bool holds(const IndexedFile& file, int64_t byte) { return file.begin <= byte && byte < file.end; }

}  // namespace

DocumentReader::DocumentReader(const DocumentIndex& index,
                               const std::vector<DocumentPlace>& documents, size_t piece_bytes)
    : index_(index), documents_(documents), piece_bytes_(piece_bytes), open_(index.files.size()) {}

size_t DocumentReader::read(size_t file, int64_t at, std::span<char> to) {
  const IndexedFile& known = index_.files[file];
  if (known.packed) return read_packed(file, at, to);
  if (!open_[file]) {
    if (num_open_ == kMostOpen) {
      std::fill(open_.begin(), open_.end(), std::nullopt);
      num_open_ = 0;
    }
    open_[file].emplace(known.path);
    ++num_open_;
    if (open_[file]->bytes() != known.end - known.begin)
      throw user_error("{} had {} bytes and now has {}", known.path.string(),
                       known.end - known.begin, open_[file]->bytes())
          .help("do not change the files while they are read; begin again with another folder");
  }
  open_[file]->read(at, std::as_writable_bytes(to));
  return to.size();
}

size_t DocumentReader::read_packed(size_t file, int64_t at, std::span<char> to) {
  if (!unpacking_ || unpacking_file_ != file || unpacking_->text_position() > at) {
    unpacking_ = std::make_unique<TextReader>(index_.files[file].path);
    unpacking_file_ = file;
  }
  std::vector<char> passed;
  size_t filled = 0;
  while (filled < to.size()) {
    const int64_t before = at - unpacking_->text_position();
    passed.resize(static_cast<size_t>(std::clamp<int64_t>(before, 0, 1 << 20)));
    const size_t count = unpacking_->read(before > 0 ? std::span(passed) : to.subspan(filled));
    if (count == 0)
      throw user_error("{} ends before byte {} of its text", index_.files[file].path.string(),
                       at + static_cast<int64_t>(to.size()))
          .help("do not change the files while they are read; begin again with another folder");
    if (before <= 0) {
      filled += count;
      at += static_cast<int64_t>(count);
    }
  }
  return to.size();
}

void DocumentReader::begin_pieces(const DocumentPlace& document) {
  given_ = 0;
  wanted_ = 0;
  pieces_ = std::make_unique<TextPieces>(
      [this, document](std::span<char> to) {
        const int64_t left = document.end - document.begin - wanted_;
        const auto count = std::min(to.size(), static_cast<size_t>(left));
        if (count == 0) return count;
        read(file_, document.begin - index_.files[file_].begin + wanted_, to.first(count));
        wanted_ += static_cast<int64_t>(count);
        return count;
      },
      piece_bytes_);
}

bool DocumentReader::next(DocumentPiece& piece, bool only_size) {
  if (next_ == documents_.size()) return false;
  const DocumentPlace& document = documents_[next_];
  if (!holds(index_.files[file_], document.begin))
    file_ = static_cast<size_t>(
        std::upper_bound(index_.files.begin(), index_.files.end(), document.begin,
                         [](int64_t byte, const IndexedFile& file) { return byte < file.begin; }) -
        index_.files.begin() - 1);
  const IndexedFile& file = index_.files[file_];
  const int64_t bytes = document.end - document.begin;
  piece.file = file_;
  piece.at = document.begin - file.begin;
  piece.ends = true;
  piece.bytes.clear();
  if (!file.lines && static_cast<size_t>(bytes) > piece_bytes_) {
    if (!pieces_) begin_pieces(document);
    piece.at += given_;
    piece.ends = pieces_->next(piece.bytes);
    piece.num_bytes = static_cast<int64_t>(piece.bytes.size());
    given_ += piece.num_bytes;
    if (only_size) piece.bytes.clear();
    if (piece.ends) pieces_.reset();
  } else {
    piece.num_bytes = bytes;
    if (!only_size) {
      piece.bytes.resize(static_cast<size_t>(bytes));
      read(file_, piece.at, piece.bytes);
    }
  }
  if (piece.ends) ++next_;
  return true;
}

}  // namespace tessera
