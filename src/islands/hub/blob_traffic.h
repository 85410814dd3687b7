// SPDX-License-Identifier: Apache-2.0
// Blobs on their way from and to an island, each with a few pieces under way at a time: enough to
// keep a fast and distant link busy, few enough that an answer to a sign of life is not late on a
// slow one.
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

  // The next piece, while not too many are under way.
  std::optional<Message> next_piece();
  void acknowledge(int64_t offset) { under_way_.erase(offset); }
  bool is_under_way() const { return !under_way_.empty(); }
  bool done() const { return next_ >= static_cast<int64_t>(bytes_.size()) && under_way_.empty(); }
  void begin_again();
  const Message& about() const { return about_; }

 private:
  Message about_;
  std::vector<std::byte> bytes_;
  std::string digest_;
  int64_t next_ = 0;
  std::set<int64_t> under_way_;
};

class Download {
 public:
  // `wanted`: what is asked for, without an offset. The digest may be unknown ("").
  Download(Message wanted, int64_t size, std::string digest);

  std::optional<Message> next_request();
  // A part that belongs to another download is ignored. A UserError where its bytes are wrong.
  void add(const Message& part);
  bool is_under_way() const { return !under_way_.empty(); }
  bool done() const { return blob_ && blob_->has_all(); }
  std::vector<std::byte> take() { return blob_->take(); }
  void begin_again() { next_ = 0, under_way_.clear(); }
  const Message& wanted() const { return wanted_; }

 private:
  Message wanted_;
  int64_t size_;
  std::optional<IncomingBlob> blob_;
  int64_t next_ = 0;
  std::set<int64_t> under_way_;
};

}  // namespace tessera
