// SPDX-License-Identifier: Apache-2.0
// Stands in for http_server.cpp in a build without libmicrohttpd.
#include "core/error.h"
#include "serve/http_server.h"

namespace tessera {

struct HttpServer::State {};

HttpServer::HttpServer(PageService, uint16_t, std::string) {
  throw UserError("this build of tessera has no web server")
      .help(
          "install libmicrohttpd-dev (tools/setup.sh build) and build again: make, or with CUDA "
          "cmake --preset cuda -DTESSERA_STUDIO=ON");
}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return 0; }

}  // namespace tessera
