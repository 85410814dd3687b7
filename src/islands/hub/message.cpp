// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "core/error.h"
#include "files/digest.h"
#include "files/json_struct.h"

namespace tessera {
namespace {

constexpr std::string_view kFormat = "tessera-islands-";
constexpr auto kKindNames = std::to_array<std::string_view>(
    {"hello", "piece", "ask", "fetch", "alive", "leave", "welcome", "wait", "refused", "unknown",
     "taken", "open", "ready", "closed", "part", "heard"});
constexpr auto kBlobNames =
    std::to_array<std::string_view>({"", "change", "combined", "parameters", "momentum"});
constexpr int64_t kMostBlobBytes = int64_t{1} << 40;
constexpr int64_t kMostCount = int64_t{1} << 53;  // that a JSON number holds exactly
constexpr size_t kMostTextBytes = 4096, kMostSettings = 256;

// The head as it travels; names stand for kinds.
struct Head {
  Message message = {};
  std::string kind = {}, blob = {}, bytes_digest = {};
  int64_t bytes = 0;
};

template <typename Visit>
void visit_fields(Head& head, const Visit& visit) {
  Message& message = head.message;
  visit("kind", head.kind);
  visit("island", message.island);
  visit("life", message.life);
  visit("blob", head.blob);
  visit("round", message.round);
  visit("base", message.base);
  visit("fragment", message.fragment);
  visit("first_round", message.first_round);
  visit("first_fragment", message.first_fragment);
  visit("offset", message.offset);
  visit("size", message.size);
  visit("digest", message.digest);
  visit("step", message.step);
  visit("tokens", message.tokens);
  visit("loss", message.loss);
  visit("text", message.text);
  visit("islands", message.islands);
  visit("rounds", message.rounds);
  visit("state_bytes", message.state_bytes);
  visit("bytes", head.bytes);
  visit("bytes_digest", head.bytes_digest);
}

UserError malformed(std::string_view what) {
  return user_error("a message between islands {}", what)
      .help("see that nothing but islands and their hub of the same version use this address");
}

void require(bool holds, std::string_view what) {
  if (!holds) throw malformed(what);
}

template <size_t N>
size_t position_of(const std::array<std::string_view, N>& names, const std::string& text,
                   std::string_view what) {
  const auto found = std::ranges::find(names, text);
  require(found != names.end(), what);
  return static_cast<size_t>(found - names.begin());
}

void require_counts(const std::vector<int64_t>& counts, int64_t least, int64_t most,
                    size_t most_items, std::string_view what) {
  require(counts.size() <= most_items, what);
  for (const int64_t count : counts) require(count >= least && count <= most, what);
}

void require_text(const std::string& text, std::string_view what) {
  require(text.size() <= kMostTextBytes, what);
  require(std::ranges::none_of(text, [](char each) { return each >= 0 && each < ' '; }), what);
}

void check_fields(const Message& message) {
  const auto within = [](int64_t value, int64_t least, int64_t most, std::string_view what) {
    require(value >= least && value <= most, what);
  };
  within(message.island, 0, kMostIslands - 1, "names an island that cannot be");
  within(message.fragment, 0, kMostFragments - 1, "names a fragment that cannot be");
  within(message.round, 0, kMostCount, "names a round that cannot be");
  within(message.first_fragment, 0, kMostFragments - 1, "names a fragment that cannot be");
  within(message.first_round, 0, kMostCount, "names a round that cannot be");
  within(message.base, -1, kMostCount, "names a round that cannot be");
  within(message.step, 0, kMostCount, "names a step that cannot be");
  within(message.tokens, 0, kMostCount, "has a number of tokens that cannot be");
  within(message.size, 0, kMostBlobBytes, "has a size that cannot be");
  within(message.offset, 0, message.size, "has bytes from after the end of what they are of");
  require(message.life.size() <= 64, "has a name that is too long");
  require_text(message.life, "has a name that is no text");
  require_text(message.text, "has a text that is too long or no text");
  require(message.digest.empty() || is_digest(message.digest), "has a digest that is none");
  require(message.bytes.size() <= kPieceBytes, "has more bytes than a piece");
  require(static_cast<int64_t>(message.bytes.size()) <= message.size - message.offset ||
              message.bytes.empty(),
          "has bytes from after the end of what they are of");
  require_counts(message.islands, 0, kMostIslands - 1, kMostIslands,
                 "names islands that cannot be");
  require_counts(message.rounds, -1, kMostCount, kMostFragments, "names rounds that cannot be");
  require_counts(message.state_bytes, 0, kMostBlobBytes, kMostFragments,
                 "has sizes that cannot be");
  require(message.settings.size() <= kMostSettings, "has too many settings");
  for (const auto& [key, value] : message.settings) {
    require_text(key, "has a setting that is no text");
    require_text(value, "has a setting that is no text");
  }
}

void read_settings(const Json& json, Message& message) {
  const Json* settings = json.find("settings");
  if (!settings) return;
  require(settings->is_object(), "has settings that are none");
  for (const JsonMember& member : settings->members()) {
    const std::string* value = member.value.text();
    require(value, "has a setting that is no text");
    message.settings.emplace(member.name, *value);
  }
}

// After the name of the format; empty where it is another one.
std::string_view take_version(std::string_view head, int& version) {
  if (!head.starts_with(kFormat)) return {};
  head.remove_prefix(kFormat.size());
  const auto read = std::from_chars(head.data(), head.data() + head.size(), version);
  if (read.ec != std::errc{}) return {};
  return head.substr(static_cast<size_t>(read.ptr - head.data()));
}

}  // namespace

std::string_view name(MessageKind kind) { return kKindNames[static_cast<size_t>(kind)]; }
std::string_view name(BlobKind kind) { return kBlobNames[static_cast<size_t>(kind)]; }

bool is_digest(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string head_of(const Message& message) {
  Head head{.message = message,
            .kind = std::string(name(message.kind)),
            .blob = std::string(name(message.blob)),
            .bytes_digest = digest_of(message.bytes),
            .bytes = static_cast<int64_t>(message.bytes.size())};
  if (!std::isfinite(head.message.loss)) head.message.loss = 0;
  head.message.bytes.clear();
  Json json = to_json(std::move(head));
  json["settings"] = Json(message.settings);
  const std::string text = json.dump();
  return fmt::format("{}{} {}\n{}", kFormat, kIslandsProtocol,
                     digest_of(std::as_bytes(std::span(text))), text);
}

Message read_message(std::string_view head, std::span<const std::byte> bytes) {
  require(head.size() <= kMostHeadBytes, "is too long");
  int version = 0;
  std::string_view rest = take_version(head, version);
  require(!rest.empty(), "is none of tessera");
  if (version != kIslandsProtocol)
    throw user_error("islands that speak version {} of their protocol, this program speaks {}",
                     version, kIslandsProtocol)
        .help("use the same version of tessera for all islands and their hub");
  constexpr size_t kBeforeJson = 1 + 16 + 1;  // a space, the digest, a newline
  require(rest.size() > kBeforeJson && rest[0] == ' ' && rest[17] == '\n', "has no digest");
  const std::string_view text = rest.substr(kBeforeJson);
  require(rest.substr(1, 16) == digest_of(std::as_bytes(std::span(text))),
          "was changed on its way: its digest differs");
  Json json;
  require(parse_json(text, 3, json).empty() && json.is_object(), "is not JSON");
  Head read;
  require(read_json(json, read), "has a field of the wrong kind");
  read_settings(json, read.message);
  Message message = std::move(read.message);
  message.kind =
      static_cast<MessageKind>(position_of(kKindNames, read.kind, "is of no kind that is known"));
  message.blob = static_cast<BlobKind>(
      position_of(kBlobNames, read.blob, "has bytes of no kind that is known"));
  require(read.bytes == static_cast<int64_t>(bytes.size()),
          "has another number of bytes than it says");
  message.bytes.assign(bytes.begin(), bytes.end());
  check_fields(message);
  require(read.bytes_digest == digest_of(message.bytes),
          "has bytes that were changed on their way: their digest differs");
  return message;
}

}  // namespace tessera
