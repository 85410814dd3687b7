// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/message.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "files/digest.h"
#include "islands/hub/curve_keys.h"
#include "islands/hub/transfer.h"

namespace tessera {
namespace {

std::vector<std::byte> some_bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

Message some_message() {
  return {.kind = MessageKind::Piece,
          .island = 3,
          .life = "abc",
          .blob = BlobKind::Change,
          .round = 12,
          .base = 11,
          .fragment = 2,
          .offset = 65536,
          .size = 65600,
          .digest = "0123456789abcdef",
          .step = 1200,
          .tokens = 4800,
          .loss = 2.5,
          .text = "text",
          .islands = {0, 3},
          .rounds = {12, 12, 11},
          .state_bytes = {1000, 1000, 400},
          .settings = {{"islands.every", "100"}},
          .bytes = some_bytes(64)};
}

// The head with the text of its JSON changed, under a digest that fits.
std::string edited(const std::string& head, const std::string& from, const std::string& to) {
  std::string text = head.substr(head.find('\n') + 1);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return "tessera-islands-1 " + digest_of(std::as_bytes(std::span(text))) + "\n" + text;
}

std::string why_refused(const std::string& head, const std::vector<std::byte>& bytes) {
  try {
    read_message(head, bytes);
    return "taken";
  } catch (const UserError& error) {
    return error.message();
  }
}

TEST(IslandMessage, ReadsBackAsItWasWritten) {
  const Message message = some_message();
  const Message read = read_message(head_of(message), message.bytes);
  EXPECT_EQ(head_of(read), head_of(message));
  EXPECT_EQ(read.bytes, message.bytes);
  EXPECT_EQ(read.settings, message.settings);
  EXPECT_EQ(read.rounds, message.rounds);
}

TEST(IslandMessage, WithAnyByteOfItsHeadChangedIsRefused) {
  const Message message = some_message();
  const std::string head = head_of(message);
  for (size_t at = 0; at < head.size(); ++at) {
    std::string other = head;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_NE(why_refused(other, message.bytes), "taken") << at;
    EXPECT_NE(why_refused(head.substr(0, at), message.bytes), "taken") << at;
  }
}

TEST(IslandMessage, WithOtherBytesThanItSaysIsRefused) {
  const Message message = some_message();
  std::vector<std::byte> bytes = message.bytes;
  bytes[10] ^= std::byte{1};
  EXPECT_EQ(why_refused(head_of(message), bytes),
            "a message between islands has bytes that were changed on their way: their digest "
            "differs");
  bytes.pop_back();
  EXPECT_EQ(why_refused(head_of(message), bytes),
            "a message between islands has another number of bytes than it says");
}

TEST(IslandMessage, OfAnotherVersionIsRefusedByName) {
  std::string head = head_of(some_message());
  head.replace(head.find("-2 "), 3, "-1 ");
  EXPECT_EQ(why_refused(head, {}),
            "islands that speak version 1 of their protocol, this program speaks 2");
}

TEST(IslandMessage, WithAFieldThatCannotBeIsRefused) {
  const Message message = some_message();
  const std::string head = head_of(message);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"island\":3", "\"island\":-1"},
           {"\"island\":3", "\"island\":4294967299"},
           {"\"fragment\":2", "\"fragment\":65536"},
           {"\"round\":12", "\"round\":-12"},
           {"\"round\":12", "\"round\":\"12\""},
           {"\"base\":11", "\"base\":-2"},
           {"\"offset\":65536", "\"offset\":65601"},
           {"\"offset\":65536", "\"offset\":-1"},
           {"\"offset\":65536", "\"offset\":65599"},
           {"\"size\":65600", "\"size\":9000000000000000000"},
           {"\"digest\":\"0123456789abcdef\"", "\"digest\":\"0123456789abcdeF\""},
           {"\"kind\":\"piece\"", "\"kind\":\"peace\""},
           {"\"blob\":\"change\"", "\"blob\":\"chance\""},
           {"\"text\":\"text\"", "\"text\":\"te\\nxt\""},
           {"\"islands\":[0,3]", "\"islands\":[0,-3]"},
           {"\"islands\":[0,3]", "\"islands\":{}"},
           {"\"rounds\":[12,12,11]", "\"rounds\":[12,-2,11]"},
           {"\"state_bytes\":[1000,1000,400]", "\"state_bytes\":[1000,-8,400]"},
           {"\"settings\":{\"islands.every\":\"100\"}", "\"settings\":{\"islands.every\":100}"},
           {"\"settings\":{\"islands.every\":\"100\"}", "\"settings\":[]"},
       })
    EXPECT_NE(why_refused(edited(head, from, to), message.bytes), "taken") << to;
}

TEST(IslandMessage, LossThatIsNotFiniteTravelsAsUnknown) {
  Message message = some_message();
  message.loss = std::nan("");
  EXPECT_EQ(read_message(head_of(message), message.bytes).loss, 0);
}

TEST(IncomingBlob, IsWholeAfterAllPiecesInAnyOrder) {
  const std::vector<std::byte> bytes = some_bytes(3 * kPieceBytes + 100);
  IncomingBlob blob(static_cast<int64_t>(bytes.size()), digest_of(bytes));
  for (const int64_t piece : {3, 0, 3, 2, 1}) {
    EXPECT_FALSE(blob.has_all());
    blob.add(piece_of({}, bytes, digest_of(bytes), piece * static_cast<int64_t>(kPieceBytes)));
  }
  ASSERT_TRUE(blob.has_all());
  EXPECT_EQ(blob.take(), bytes);
}

TEST(IncomingBlob, RefusesPiecesOfAnotherBlobAndOtherPlaces) {
  const std::vector<std::byte> bytes = some_bytes(2 * kPieceBytes);
  const std::string digest = digest_of(bytes);
  IncomingBlob blob(static_cast<int64_t>(bytes.size()), digest);
  const Message good = piece_of({}, bytes, digest, 0);
  for (int wrong = 0; wrong < 4; ++wrong) {
    Message piece = good;
    if (wrong == 0) piece.size += 1;
    if (wrong == 1) piece.digest = "0000000000000000";
    if (wrong == 2) piece.offset = 5;
    if (wrong == 3) piece.bytes.pop_back();
    EXPECT_THROW(blob.add(piece), UserError) << wrong;
  }
  Message changed = good;
  changed.bytes[0] ^= std::byte{1};
  blob.add(changed);
  blob.add(piece_of({}, bytes, digest, static_cast<int64_t>(kPieceBytes)));
  EXPECT_THROW(blob.take(), UserError);
}

TEST(CurveKeys, AddressesOfThisMachineAreThose) {
  for (const char* own : {"tcp://127.0.0.1:1", "tcp://[::1]:1", "tcp://localhost:1", "ipc:///x"})
    EXPECT_TRUE(is_loopback(own)) << own;
  for (const char* other : {"tcp://127.0.0.1.example.org:1", "tcp://0.0.0.0:1", "tcp://*:1",
                            "tcp://10.0.0.1:1", "tcp://localhost.example.org:1", "127.0.0.1:1"})
    EXPECT_FALSE(is_loopback(other)) << other;
}

}  // namespace
}  // namespace tessera
