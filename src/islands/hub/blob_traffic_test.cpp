// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/blob_traffic.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr auto kPiece = static_cast<int64_t>(kPieceBytes);
const std::vector<std::byte> kTwoPiecesAndABit(2 * kPieceBytes + 7, std::byte{5});

std::vector<int64_t> offsets_of(auto&& next) {
  std::vector<int64_t> offsets;
  while (const std::optional<Message> message = next()) offsets.push_back(message->offset);
  return offsets;
}

TEST(Upload, SendsEachPieceOnceAndAgainOnlyWhatWasNotAcknowledged) {
  Upload upload({.kind = MessageKind::Piece}, kTwoPiecesAndABit);
  const auto pieces = [&] { return offsets_of([&] { return upload.next_piece(); }); };
  EXPECT_EQ(pieces(), (std::vector<int64_t>{0, kPiece, 2 * kPiece}));
  EXPECT_EQ(pieces(), std::vector<int64_t>{});
  upload.acknowledge(0);
  upload.acknowledge(0);
  upload.acknowledge(2 * kPiece);
  EXPECT_EQ(upload.under_way(), 1u);
  EXPECT_FALSE(upload.done());
  upload.repeat();
  EXPECT_EQ(pieces(), std::vector<int64_t>{kPiece});
  upload.acknowledge(kPiece);
  EXPECT_TRUE(upload.done());
  upload.begin_again();
  EXPECT_EQ(pieces().size(), 3u);
}

TEST(Upload, TakesAnAnswerThatCameLate) {
  Upload upload({.kind = MessageKind::Piece}, std::vector<std::byte>(7));
  EXPECT_TRUE(upload.next_piece());
  upload.repeat();
  upload.acknowledge(0);
  EXPECT_TRUE(upload.done());
  EXPECT_FALSE(upload.next_piece());
}

TEST(Download, AsksForEachPieceOnceAndAgainOnlyForWhatIsMissing) {
  const auto size = static_cast<int64_t>(kTwoPiecesAndABit.size());
  const std::string digest = "0123456789abcdef";
  Download download({.kind = MessageKind::Fetch, .blob = BlobKind::Combined}, size, digest);
  const auto requests = [&] { return offsets_of([&] { return download.next_request(); }); };
  EXPECT_EQ(requests(), (std::vector<int64_t>{0, kPiece, 2 * kPiece}));
  EXPECT_EQ(requests(), std::vector<int64_t>{});
  download.add(piece_of({.kind = MessageKind::Part, .blob = BlobKind::Combined}, kTwoPiecesAndABit,
                        digest, 0));
  EXPECT_EQ(requests(), std::vector<int64_t>{});
  download.repeat();
  EXPECT_EQ(requests(), (std::vector<int64_t>{kPiece, 2 * kPiece}));
}

}  // namespace
}  // namespace tessera
