// SPDX-License-Identifier: Apache-2.0
// Blobs on their way from and to an island. All that go one way share one allowance of pieces under
// way: enough to keep a fast and distant link busy, few enough that an answer to a sign of life is
// not late on a slow one.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "islands/hub/message.h"
#include "islands/hub/transfer.h"

namespace tessera {

inline constexpr size_t kPiecesUnderWay = 32;

class Upload {
 public:
  // `about`: what its pieces say of themselves.
  Upload(Message about, std::vector<std::byte> bytes);

  std::optional<Message> next_piece();
  void acknowledge(int64_t offset);
  size_t under_way() const { return under_way_.size(); }
  bool done() const { return taken_ == piece_count(bytes()); }
  int64_t bytes() const { return static_cast<int64_t>(bytes_.size()); }
  // All of it: the other side may have lost what it took.
  void begin_again();
  // What was not acknowledged.
  void repeat();
  const Message& about() const { return about_; }

 private:
  Message about_;
  std::vector<std::byte> bytes_;
  std::string digest_;
  int64_t next_ = 0, taken_ = 0;  // taken: pieces
  std::set<int64_t> under_way_, again_;
};

class Download {
 public:
  // `wanted`: what is asked for, without an offset. The digest may be unknown ("").
  Download(Message wanted, int64_t size, std::string digest);

  std::optional<Message> next_request();
  // A part that belongs to another download is ignored. A UserError where its bytes are wrong.
  void add(const Message& part);
  size_t under_way() const { return under_way_.size(); }
  bool done() const { return blob_ && blob_->has_all(); }
  std::vector<std::byte> take() { return blob_->take(); }
  // What is missing is asked for again.
  void repeat() { next_ = 0, under_way_.clear(); }
  const Message& wanted() const { return wanted_; }

 private:
  Message wanted_;
  int64_t size_;
  std::optional<IncomingBlob> blob_;
  int64_t next_ = 0;
  std::set<int64_t> under_way_;
};

}  // namespace tessera
