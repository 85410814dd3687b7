// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/hub_link.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "islands/hub/curve_keys.h"
#include "islands/hub/island_talk.h"
#include "islands/hub/zmq_socket.h"
#include "system/random_name.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr double kLookSeconds = 0.2, kFarewellSeconds = 2;

// Wakes the thread that waits for messages.
class Bell {
 public:
  Bell() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TESSERA_CHECK(descriptor_ >= 0, "no eventfd");
  }
  ~Bell() { ::close(descriptor_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  int descriptor() const { return descriptor_; }
  void ring() const {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }
  void silence() const {
    uint64_t rung = 0;
    [[maybe_unused]] const auto read = ::read(descriptor_, &rung, sizeof rung);
  }

 private:
  int descriptor_;
};

class HubLink : public IslandLink {
 public:
  HubLink(HubAddress hub, const IslandSettings& settings, SayOfIsland say);
  ~HubLink() override;

  std::optional<OuterSnapshot> join(const OuterSnapshot& first) override;
  void send(FragmentChange change) override;
  std::optional<CombinedChange> receive(ExchangeId exchange) override;
  OuterSnapshot newest() override;
  void report(int64_t step, double loss, int64_t tokens) override;
  void leave() override;

 private:
  void converse();
  void exchange_messages();
  void read_messages();
  std::unique_ptr<ZmqSocket> make_socket() const;
  double now() const { return seconds_since(begin_); }
  void throw_if_failed() const;

  const HubAddress hub_;
  SayOfIsland say_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  CurveKeys keys_;
  std::string public_key_of_hub_;
  ZmqContext context_;
  Bell bell_;
  mutable std::mutex mutex_;  // guards all below, but for the socket and what is unsent
  std::condition_variable changed_;
  IslandTalk talk_;
  std::string failure_;
  bool ended_ = false, leaves_ = false, has_left_ = false;
  std::unique_ptr<ZmqSocket> socket_;  // the thread's own
  std::deque<ZmqFrames> unsent_;       // as well
  double socket_made_ = 0;
  bool farewell_said_ = false;
  std::thread thread_;
};

HubLink::HubLink(HubAddress hub, const IslandSettings& settings, SayOfIsland say)
    : hub_(std::move(hub)),
      say_(std::move(say)),
      talk_({.island = hub_.island,
             .life = random_name(),
             .settings = settings,
             .silence_seconds = hub_.silence_seconds},
            0) {
  check_address(hub_.address, "islands.hub");
  if (!hub_.keys.empty()) {
    keys_ = read_curve_pair(hub_.keys, island_name(hub_.island));
    public_key_of_hub_ = read_curve_public(hub_.keys, "hub");
  } else if (!is_loopback(hub_.address)) {
    throw user_error("{} is on another machine, and there are no keys", hub_.address)
        .at("islands.keys")
        .help("make keys with `tessera islands keys`, and set islands.keys to their folder");
  }
  socket_ = make_socket();
  thread_ = std::thread([this] { converse(); });
}

HubLink::~HubLink() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  bell_.ring();
  thread_.join();
}

std::unique_ptr<ZmqSocket> HubLink::make_socket() const {
  auto socket = std::make_unique<ZmqSocket>(context_, ZmqRole::Island);
  if (!public_key_of_hub_.empty()) socket->use_keys(keys_, public_key_of_hub_);
  socket->connect(hub_.address);
  return socket;
}

void HubLink::converse() {
  try {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (ended_ || has_left_) return;
      }
      exchange_messages();
      ZmqSocket* const socket = socket_.get();
      wait_for_messages({&socket, 1}, bell_.descriptor(), kLookSeconds);
      bell_.silence();
    }
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    failure_ = error.what();
    changed_.notify_all();
  }
}

// What waits to be sent goes first; nothing new is said before it has gone.
void HubLink::exchange_messages() {
  std::vector<std::string> sentences;
  {
    const std::lock_guard lock(mutex_);
    read_messages();
    const bool away = talk_.hub_is_away(now());
    if (away && now() - socket_made_ > hub_.silence_seconds) {
      // What was said to a hub that was away is not to be said to it when it is back.
      socket_made_ = now();
      unsent_.clear();
      socket_ = make_socket();
    }
    if (unsent_.empty())
      for (const Message& message : talk_.speak(now()))
        unsent_.push_back({.head = head_of(message), .bytes = message.bytes});
    if (leaves_ && !farewell_said_) {
      unsent_.push_back({.head = head_of(talk_.farewell())});
      farewell_said_ = true;
    }
    sentences = talk_.take_sentences();
    changed_.notify_all();
  }
  for (const std::string& sentence : sentences) say_(sentence);
  while (!unsent_.empty() && socket_->send(unsent_.front())) unsent_.pop_front();
  const std::lock_guard lock(mutex_);
  has_left_ = farewell_said_ && unsent_.empty();
  changed_.notify_all();
}

void HubLink::read_messages() {
  while (const std::optional<ZmqFrames> frames = socket_->receive()) {
    try {
      talk_.hear(read_message(frames->head, frames->bytes), now());
    } catch (const UserError& error) {
      if (talk_.has_joined())
        say_("a message of the hub is ignored: " + error.message());
      else
        failure_ = error.message();
    }
  }
}

void HubLink::throw_if_failed() const {
  if (!failure_.empty())
    throw user_error("the link to the hub at {} failed: {}", hub_.address, failure_)
        .help("see what the hub says, and that it is of the same version");
}

std::optional<OuterSnapshot> HubLink::join(const OuterSnapshot& first) {
  std::unique_lock lock(mutex_);
  talk_.join(first);
  bell_.ring();
  const auto decided = [&] {
    return talk_.has_joined() || !talk_.refused().empty() || !failure_.empty();
  };
  if (!changed_.wait_for(lock, std::chrono::duration<double>(hub_.join_seconds), decided))
    throw user_error("no hub lets island {} in at {}, after {:.0f} s", hub_.island, hub_.address,
                     hub_.join_seconds)
        .at("islands.hub")
        .help(
            "start `tessera islands hub --listen` at this address, with the keys that this island "
            "has, and see that no other job has the same islands.index");
  throw_if_failed();
  if (!talk_.refused().empty())
    throw user_error("the hub at {} refuses island {}: {}", hub_.address, hub_.island,
                     talk_.refused())
        .at("islands.hub")
        .help("give all islands the same config but for islands.index, and each its own key");
  return talk_.take_newest();
}

void HubLink::send(FragmentChange change) {
  const std::lock_guard lock(mutex_);
  talk_.send(std::move(change));
  bell_.ring();
}

std::optional<CombinedChange> HubLink::receive(ExchangeId exchange) {
  std::unique_lock lock(mutex_);
  while (true) {
    throw_if_failed();
    if (std::optional<IslandTalk::Outcome> outcome = talk_.take_outcome(exchange)) {
      if (outcome->closed_without) return std::nullopt;
      return std::move(outcome->combined);
    }
    if (talk_.hub_is_away(now())) {
      talk_.drop(exchange);
      return CombinedChange{.exchange = exchange};
    }
    changed_.wait_for(lock, std::chrono::duration<double>(kLookSeconds));
  }
}

OuterSnapshot HubLink::newest() {
  std::unique_lock lock(mutex_);
  talk_.ask_newest();
  bell_.ring();
  for (double heard = now(); now() - heard < hub_.join_seconds;) {
    throw_if_failed();
    if (std::optional<OuterSnapshot> newest = talk_.take_newest()) return std::move(*newest);
    if (!talk_.hub_is_away(now())) heard = now();
    changed_.wait_for(lock, std::chrono::duration<double>(kLookSeconds));
  }
  throw user_error("the hub at {} went away for {:.0f} s while island {} took the newest weights",
                   hub_.address, hub_.join_seconds, hub_.island)
      .at("islands.hub")
      .help("start the hub again with the --out that it had, and go on with --resume");
}

void HubLink::report(int64_t step, double loss, int64_t tokens) {
  const std::lock_guard lock(mutex_);
  talk_.report(step, loss, tokens);
}

void HubLink::leave() {
  std::unique_lock lock(mutex_);
  leaves_ = true;
  bell_.ring();
  changed_.wait_for(lock, std::chrono::duration<double>(kFarewellSeconds),
                    [&] { return has_left_ || !failure_.empty(); });
}

}  // namespace

std::unique_ptr<IslandLink> connect_to_hub(const HubAddress& hub, const IslandSettings& settings,
                                           SayOfIsland say) {
  return std::make_unique<HubLink>(hub, settings, std::move(say));
}

}  // namespace tessera
