// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/serve_hub.h"

#include <array>
#include <chrono>

#include "core/error.h"
#include "files/folder.h"
#include "islands/hub/curve_keys.h"
#include "islands/hub/zmq_socket.h"
#include "system/seconds_since.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

constexpr double kLookSeconds = 0.25, kLookSecondsWhileItSaves = 0.005;
constexpr const char* kAuthenticatorAddress = "inproc://zeromq.zap.01";  // the library's own

// The doors of the hub: who has no key that it knows does not come as far as a message.
class HubDoor {
 public:
  explicit HubDoor(const ServeHubOptions& options)
      : authenticator_(context_, ZmqRole::Authenticator), socket_(context_, ZmqRole::Hub) {
    authenticator_.bind(kAuthenticatorAddress);
    if (!options.keys.empty()) {
      islands_ = read_island_keys(options.keys);
      socket_.use_keys(read_curve_pair(options.keys, "hub"));
    } else if (!is_loopback(options.listen)) {
      throw user_error("{} can be reached from other machines, and there are no keys",
                       options.listen)
          .at("--listen")
          .help("make keys with `tessera islands keys`, and give their folder with --keys");
    }
    socket_.bind(options.listen);
  }

  ZmqSocket& socket() { return socket_; }
  size_t keys() const { return islands_.size(); }
  void wait(double seconds) {
    const std::array<ZmqSocket*, 2> sockets{&socket_, &authenticator_};
    wait_for_messages(sockets, -1, seconds);
    authenticator_.answer_questions(islands_);
  }

 private:
  ZmqContext context_;
  ZmqSocket authenticator_, socket_;
  std::map<std::string, int64_t> islands_;
};

// A message that cannot be read is answered once, and costs nobody else anything.
std::vector<HubReply> answer(IslandHub& hub, const ZmqFrames& frames, double now) {
  try {
    return hub.take(frames.from, frames.user, read_message(frames.head, frames.bytes), now);
  } catch (const UserError& error) {
    return {
        {.to = frames.from, .message = {.kind = MessageKind::Refused, .text = error.message()}}};
  }
}

}  // namespace

void serve_hub(const ServeHubOptions& options, const HubRecord::Say& say,
               const std::function<bool()>& asked_to_stop) {
  check_address(options.listen, "--listen");
  HubDoor door(options);
  std::optional<HubStore> store;
  std::optional<std::filesystem::path> folder;
  if (!options.out.empty()) {
    store.emplace(options.out / "outer");
    folder = options.out;
  }
  HubRecord record(folder, say);
  const auto begin = std::chrono::steady_clock::now();
  HubOptions hub_options = options.hub;
  hub_options.saves_beside = true;
  // The state, and in fp64 what some islands have sent.
  if (const double installed = installed_memory_bytes(); installed > 0)
    hub_options.most_state_bytes = installed / 8;
  IslandHub hub(hub_options, store ? &*store : nullptr, record, 0);
  record.event("listens", std::nullopt,
               fmt::format("the hub listens at {}, {}", door.socket().bound_address(),
                           door.keys() == 0 ? std::string("to this machine alone, without keys")
                                            : fmt::format("and knows {} keys", door.keys())));
  const auto send_all = [&](const std::vector<HubReply>& replies) {
    for (const HubReply& reply : replies)
      door.socket().send(
          {.from = reply.to, .head = head_of(reply.message), .bytes = reply.message.bytes});
  };
  while (!asked_to_stop() && !(options.until_all_left && hub.everyone_has_left())) {
    door.wait(hub.run().is_saving() ? kLookSecondsWhileItSaves : kLookSeconds);
    constexpr int kMostAtOnce = 256;  // then those who are silent get their look
    for (int count = 0; count < kMostAtOnce; ++count) {
      const std::optional<ZmqFrames> frames = door.socket().receive();
      if (!frames) break;
      send_all(answer(hub, *frames, seconds_since(begin)));
    }
    send_all(hub.look(seconds_since(begin)));
  }
  record.event("ended", std::nullopt, "the hub ends");
}

}  // namespace tessera
