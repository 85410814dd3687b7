// SPDX-License-Identifier: Apache-2.0
#include "serve/loopback_sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

constexpr int kTries = 16;
constexpr int kWaitingConnections = 64;

// A listening socket, or the negated errno.
template <typename Address>
int listen_on(const Address& address, int family) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(descriptor, kWaitingConnections) == 0)
    return descriptor;
  const int problem = errno;
  ::close(descriptor);
  return -problem;
}

int listen_on_ipv4(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return listen_on(address, AF_INET);
}

int listen_on_ipv6(uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(port);
  return listen_on(address, AF_INET6);
}

uint16_t port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  TESSERA_CHECK(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
  return ntohs(address.sin_port);
}

UserError cannot_listen(uint16_t port, int problem) {
  return user_error("cannot listen on port {} of this machine: {}", port, errno_text(problem))
      .help("choose another port; with 0 any free one is taken");
}

}  // namespace

LoopbackSockets::LoopbackSockets(uint16_t port) {
  for (int tried = 0;; ++tried) {
    const int ipv4 = listen_on_ipv4(port);
    if (ipv4 < 0) throw cannot_listen(port, -ipv4);
    port_ = port_of(ipv4);
    const int ipv6 = listen_on_ipv6(port_);
    if (ipv6 != -EADDRINUSE) {
      sockets_ = {ipv4};
      if (ipv6 >= 0) sockets_.push_back(ipv6);
      return;
    }
    ::close(ipv4);
    if (port != 0 || tried == kTries) throw cannot_listen(port_, EADDRINUSE);
  }
}

LoopbackSockets::~LoopbackSockets() {
  for (const int descriptor : sockets_) ::close(descriptor);
}

std::vector<int> LoopbackSockets::release() { return std::exchange(sockets_, {}); }

}  // namespace tessera
