// SPDX-License-Identifier: Apache-2.0
// Serves a page over HTTP to this machine alone. A build without libmicrohttpd has
// no_http_server.cpp instead, whose server says what to install.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "serve/page_service.h"

namespace tessera {

class HttpServer {
 public:
  // Listens and answers, on threads of its own, until it is destroyed. Port 0: any that is free.
  HttpServer(PageService service, uint16_t port, std::string token);
  ~HttpServer();  // cancels what is being answered, and waits for it

  uint16_t port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
