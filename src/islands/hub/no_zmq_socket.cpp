// SPDX-License-Identifier: Apache-2.0
// Stands in for zmq_socket.cpp in a build without ZeroMQ.
#include "core/error.h"
#include "islands/hub/zmq_socket.h"

namespace tessera {
namespace {

UserError lacks_zmq() {
  return UserError(
             "this build of tessera has no ZeroMQ, over which islands in jobs of their own speak")
      .help(
          "install libzmq3-dev (tools/setup.sh build) and build again; islands of one process need "
          "none: leave islands.hub out");
}

}  // namespace

ZmqContext::ZmqContext() { throw lacks_zmq(); }
ZmqContext::~ZmqContext() = default;

ZmqSocket::ZmqSocket(const ZmqContext&, ZmqRole role) : role_(role) {}
ZmqSocket::~ZmqSocket() = default;
void ZmqSocket::use_keys(const CurveKeys&) {}
void ZmqSocket::use_keys(const CurveKeys&, const std::string&) {}
void ZmqSocket::bind(const std::string&) {}
void ZmqSocket::connect(const std::string&) {}
std::string ZmqSocket::bound_address() const { return {}; }
bool ZmqSocket::send(const ZmqFrames&) { return false; }
std::optional<ZmqFrames> ZmqSocket::receive() { return std::nullopt; }
void ZmqSocket::answer_questions(const std::map<std::string, int64_t>&) {}
std::optional<std::vector<std::string>> ZmqSocket::receive_all(std::string*) {
  return role_ == ZmqRole::Hub ? std::nullopt : std::optional<std::vector<std::string>>();
}
bool ZmqSocket::send_part(std::string_view, bool) { return false; }

void wait_for_messages(std::span<ZmqSocket* const>, int, double) {}
CurveKeys make_curve_pair() { throw lacks_zmq(); }

}  // namespace tessera
