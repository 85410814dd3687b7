// SPDX-License-Identifier: Apache-2.0
// Sockets of ZeroMQ as islands and their hub use them; nothing else includes the library. A build
// without it has no_zmq_socket.cpp instead, which says what to install. A socket belongs to one
// thread; nothing here waits but `wait_for_messages`.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "islands/hub/curve_keys.h"

namespace tessera {

class ZmqContext {
 public:
  ZmqContext();   // a UserError in a build without the library
  ~ZmqContext();  // NOLINT(performance-trivially-destructible): only without the library
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

enum class ZmqRole : uint8_t {
  Hub,            // ROUTER: answers whoever asks
  Island,         // DEALER: asks one hub
  Authenticator,  // REP: is asked by the library whether a key may come in (ZAP, RFC 27)
};

struct ZmqFrames {
  std::string from = {};  // of a hub: the connection, to answer it
  std::string user = {};  // whom the authenticator knows by the key; empty: nobody was asked
  std::string head = {};
  std::vector<std::byte> bytes = {};
};

class ZmqSocket {
 public:
  ZmqSocket(const ZmqContext& context, ZmqRole role);
  ~ZmqSocket();  // NOLINT(performance-trivially-destructible): only without the library
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  // Before bind or connect. A hub's connections are then encrypted, and the context's authenticator
  // decides who comes in.
  void use_keys(const CurveKeys& own);
  void use_keys(const CurveKeys& own, const std::string& public_key_of_hub);

  void bind(const std::string& address);  // a UserError where it is taken or not ours
  void connect(const std::string& address);
  std::string bound_address() const;

  // False: it cannot be sent now, or whoever it is for has gone.
  bool send(const ZmqFrames& frames);
  std::optional<ZmqFrames> receive();

  // Of an authenticator: answers every question that is there. `islands`: by public key.
  void answer_questions(const std::map<std::string, int64_t>& islands);
  void* handle() const { return handle_; }

 private:
  std::optional<std::vector<std::string>> receive_all(std::string* user);
  bool send_part(std::string_view bytes, bool more);

  ZmqRole role_;
  void* handle_ = nullptr;
};

// Until a socket has a message, `descriptor` (-1: none) can be read, a signal came, or the time is
// over.
void wait_for_messages(std::span<ZmqSocket* const> sockets, int descriptor, double seconds);

CurveKeys make_curve_pair();

}  // namespace tessera
