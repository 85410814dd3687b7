// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/zmq_socket.h"

#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "islands/hub/message.h"

namespace tessera {
namespace {

constexpr size_t kMostFrames = 8;
constexpr int kWaitingMessages = 128;  // of one connection, before TCP makes the sender wait
// The library's own signs of life, so that a connection that died silently is made again.
constexpr int kSignMilliseconds = 1000, kSilenceMilliseconds = 10000;
constexpr int kFirstRetryMilliseconds = 100, kLastRetryMilliseconds = 2000,
              kLingerMilliseconds = 1000;

UserError zmq_error(const std::string& what) {
  return user_error("{}: {}", what, zmq_strerror(zmq_errno()));
}

void set_option(void* socket, int option, int value) {
  const int result = zmq_setsockopt(socket, option, &value, sizeof value);
  TESSERA_CHECK(result == 0, "ZeroMQ refuses option {}: {}", option, zmq_strerror(zmq_errno()));
}

void set_option(void* socket, int option, const std::string& text) {
  const int result = zmq_setsockopt(socket, option, text.c_str(), text.size() + 1);
  TESSERA_CHECK(result == 0, "ZeroMQ refuses a key: {}", zmq_strerror(zmq_errno()));
}

int zmq_type(ZmqRole role) {
  constexpr std::array kTypes = {ZMQ_ROUTER, ZMQ_DEALER, ZMQ_REP};
  return kTypes[static_cast<size_t>(role)];
}

std::string text_of_key(std::string_view key) {
  std::array<char, kCurveKeyCharacters + 1> text{};
  if (key.size() != 32 ||
      !zmq_z85_encode(text.data(), reinterpret_cast<const uint8_t*>(key.data()), key.size()))
    return {};
  return text.data();
}

}  // namespace

ZmqContext::ZmqContext() : handle_(zmq_ctx_new()) {
  TESSERA_CHECK(handle_, "ZeroMQ has no context: {}", zmq_strerror(zmq_errno()));
}

ZmqContext::~ZmqContext() { zmq_ctx_term(handle_); }

ZmqSocket::ZmqSocket(const ZmqContext& context, ZmqRole role)
    : role_(role), handle_(zmq_socket(context.handle(), zmq_type(role))) {
  TESSERA_CHECK(handle_, "ZeroMQ has no socket: {}", zmq_strerror(zmq_errno()));
  set_option(handle_, ZMQ_LINGER, role == ZmqRole::Authenticator ? 0 : kLingerMilliseconds);
  if (role == ZmqRole::Authenticator) return;
  const auto most = static_cast<int64_t>(kMostHeadBytes);
  TESSERA_CHECK(zmq_setsockopt(handle_, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0);
  set_option(handle_, ZMQ_RCVHWM, kWaitingMessages);
  set_option(handle_, ZMQ_SNDHWM, kWaitingMessages);
  set_option(handle_, ZMQ_HEARTBEAT_IVL, kSignMilliseconds);
  set_option(handle_, ZMQ_HEARTBEAT_TIMEOUT, kSilenceMilliseconds);
  set_option(handle_, ZMQ_RECONNECT_IVL, kFirstRetryMilliseconds);
  set_option(handle_, ZMQ_RECONNECT_IVL_MAX, kLastRetryMilliseconds);
  if (role == ZmqRole::Hub) set_option(handle_, ZMQ_ROUTER_MANDATORY, 1);
}

ZmqSocket::~ZmqSocket() { zmq_close(handle_); }

void ZmqSocket::use_keys(const CurveKeys& own) {
  set_option(handle_, ZMQ_CURVE_SERVER, 1);
  set_option(handle_, ZMQ_CURVE_PUBLICKEY, own.public_key);
  set_option(handle_, ZMQ_CURVE_SECRETKEY, own.secret_key);
}

void ZmqSocket::use_keys(const CurveKeys& own, const std::string& public_key_of_hub) {
  set_option(handle_, ZMQ_CURVE_SERVERKEY, public_key_of_hub);
  set_option(handle_, ZMQ_CURVE_PUBLICKEY, own.public_key);
  set_option(handle_, ZMQ_CURVE_SECRETKEY, own.secret_key);
}

void ZmqSocket::bind(const std::string& address) {
  if (address.find('[') != std::string::npos) set_option(handle_, ZMQ_IPV6, 1);
  if (zmq_bind(handle_, address.c_str()) != 0)
    throw zmq_error("cannot listen at " + address)
        .at("--listen")
        .help("choose an address of this machine and a port that is free");
}

void ZmqSocket::connect(const std::string& address) {
  if (address.find('[') != std::string::npos) set_option(handle_, ZMQ_IPV6, 1);
  if (zmq_connect(handle_, address.c_str()) != 0)
    throw zmq_error("cannot use the hub's address " + address)
        .at("islands.hub")
        .help("write it as tcp://HOST:PORT");
}

std::string ZmqSocket::bound_address() const {
  std::array<char, 512> text{};
  size_t size = text.size();
  TESSERA_CHECK(zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text.data(), &size) == 0);
  return text.data();
}

bool ZmqSocket::send_part(std::string_view bytes, bool more) {
  return zmq_send(handle_, bytes.data(), bytes.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >=
         0;
}

// The library takes all frames of a message once it has taken the first.
bool ZmqSocket::send(const ZmqFrames& frames) {
  if (role_ == ZmqRole::Hub && !send_part(frames.from, true)) return false;
  const std::string_view bytes(reinterpret_cast<const char*>(frames.bytes.data()),
                               frames.bytes.size());
  return send_part(frames.head, true) && send_part(bytes, false);
}

std::optional<std::vector<std::string>> ZmqSocket::receive_all(std::string* user) {
  std::vector<std::string> parts;
  bool more = true;
  while (more) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, handle_, ZMQ_DONTWAIT) < 0) {
      zmq_msg_close(&message);
      return std::nullopt;
    }
    if (parts.size() < kMostFrames)
      parts.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    if (user != nullptr)
      if (const char* id = zmq_msg_gets(&message, "User-Id")) *user = id;
    more = zmq_msg_more(&message) != 0;
    zmq_msg_close(&message);
  }
  return parts;
}

std::optional<ZmqFrames> ZmqSocket::receive() {
  ZmqFrames frames;
  const std::optional<std::vector<std::string>> parts = receive_all(&frames.user);
  if (!parts) return std::nullopt;
  const size_t first = role_ == ZmqRole::Hub ? 1 : 0;
  if (first == 1) frames.from = parts->front();
  // Fewer or more frames than a message has: an empty head is refused like any other that is wrong.
  if (parts->size() != first + 2) return frames;
  frames.head = (*parts)[first];
  const std::string& bytes = (*parts)[first + 1];
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  frames.bytes.assign(begin, begin + bytes.size());
  return frames;
}

// Frames of a question: version, number, domain, address, identity, mechanism, key.
void ZmqSocket::answer_questions(const std::map<std::string, int64_t>& islands) {
  while (const auto question = receive_all(nullptr)) {
    const bool asks =
        question->size() == 7 && question->front() == "1.0" && (*question)[5] == "CURVE";
    const auto known = asks ? islands.find(text_of_key(question->back())) : islands.end();
    const bool taken = known != islands.end();
    const std::string number = question->size() > 1 ? (*question)[1] : "";
    for (const std::string& part :
         {std::string("1.0"), number, std::string(taken ? "200" : "400"),
          std::string(taken ? "OK" : "unknown key"), taken ? island_name(known->second) : ""})
      send_part(part, true);
    send_part("", false);
  }
}

void wait_for_messages(std::span<ZmqSocket* const> sockets, int descriptor, double seconds) {
  std::vector<zmq_pollitem_t> items;
  for (const ZmqSocket* socket : sockets) items.push_back({socket->handle(), 0, ZMQ_POLLIN, 0});
  if (descriptor >= 0) items.push_back({nullptr, descriptor, ZMQ_POLLIN, 0});
  zmq_poll(items.data(), static_cast<int>(items.size()),
           static_cast<long>(std::clamp(seconds, 0.0, 3600.0) * 1000));
}

CurveKeys make_curve_pair() {
  std::array<char, kCurveKeyCharacters + 1> public_key{}, secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0)
    throw zmq_error("ZeroMQ makes no keys").help("install a libzmq that was built with libsodium");
  return {.public_key = public_key.data(), .secret_key = secret_key.data()};
}

}  // namespace tessera
