// SPDX-License-Identifier: Apache-2.0
// Which requests a server of this machine's user takes. Any page that the user has open, and any
// other user of the machine, can send requests to loopback: what comes under another name (DNS
// rebinding), from another page, without the token, or in another form, is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/page_service.h"

namespace tessera {

inline constexpr size_t kMostHeaderBytes = 16 * 1024;
inline constexpr size_t kMostBodyBytes = 1024 * 1024;

struct RequestHead {
  std::string_view method, path;  // the path as it was sent, without what follows a "?"
  std::vector<std::pair<std::string_view, std::string_view>> headers = {};
  size_t bytes = 0;  // of all of it
};

struct AccessRule {
  uint16_t port = 0;
  std::string token = {};
};

// Nothing where the request is taken.
std::optional<PageReply> refuse_request(const RequestHead& head, const AccessRule& rule);

// The value of a header, whose name may be in any case; nothing where there is none.
std::optional<std::string_view> find_header(const RequestHead& head, std::string_view name);

// The kind in /ask/KIND; nothing in another path. Lower case letters and underscores.
std::optional<std::string_view> asked_kind(std::string_view path);

}  // namespace tessera
