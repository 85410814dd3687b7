// SPDX-License-Identifier: Apache-2.0
// What an island and the hub say to each other: a head, one line of JSON after the format's name
// and the head's digest, and for some kinds bytes. Islands ask, the hub answers; every question may
// be asked again. Nothing that comes over the network is believed before `read_message` has taken
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The number is part of every message; the hub names both where they differ.
inline constexpr int kIslandsProtocol = 2;
inline constexpr size_t kMostHeadBytes = 256 * 1024;
// Of bytes in one message, so that signs of life and other islands get their turn between two.
inline constexpr size_t kPieceBytes = 64 * 1024;
inline constexpr int kMostIslands = 4096, kMostFragments = 65536;

enum class MessageKind : uint8_t {
  // Of an island.
  Hello,  // its settings, and the digest of the state that it would begin with
  Piece,  // some bytes of a blob
  Ask,    // what became of a round
  Fetch,  // some bytes of a blob of the hub
  Alive,  // the step that it has reached
  Leave,
  // Of the hub.
  Welcome,  // `text`: found, begin, take
  Wait,     // for another island's first state
  Refused,  // `text` says why
  Unknown,  // say hello first
  Taken,    // a piece
  Open,     // the round is not closed yet
  Ready,    // the round is closed with this island: fetch the combined change
  Closed,   // without this island
  Part,     // what was fetched
  Heard,
};
std::string_view name(MessageKind kind);

// What bytes are of.
enum class BlobKind : uint8_t { None, Change, Combined, Parameters, Momentum };
std::string_view name(BlobKind kind);

struct Message {
  MessageKind kind = MessageKind::Alive;
  int64_t island = 0;
  std::string life = {};  // of the island's process, or of the hub's run: another one, another name
  BlobKind blob = BlobKind::None;
  int64_t round = 0, base = -1;  // base: the round that a change starts from
  int64_t fragment = 0;
  // Of an island: the first exchange that it may still send. It waits for the outcome of that one
  // or sends it later; earlier ones need not wait for it.
  int64_t first_round = 0, first_fragment = 0;
  int64_t offset = 0, size = 0;  // of the blob
  std::string digest = {};       // of the blob, or of a whole state
  int64_t step = 0, tokens = 0;
  double loss = 0;  // 0: not known
  std::string text = {};
  std::vector<int64_t> islands = {};                 // that took part
  std::vector<int64_t> rounds = {};                  // by fragment
  std::vector<int64_t> state_bytes = {};             // of parameters, by fragment
  std::map<std::string, std::string> settings = {};  // that all islands must share
  std::vector<std::byte> bytes = {};
};

// The two frames of a message: its head, and its bytes (which may be none).
std::string head_of(const Message& message);
// A UserError where they are not what head_of writes: another format or version, a digest that
// differs, a field of the wrong kind or size.
Message read_message(std::string_view head, std::span<const std::byte> bytes);

// Digest of what a blob or a piece holds, 16 hex digits.
bool is_digest(std::string_view text);

}  // namespace tessera
