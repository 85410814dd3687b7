// SPDX-License-Identifier: Apache-2.0
#include "serve/request_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "files/json.h"
#include "serve/access_token.h"

namespace tessera {
namespace {

constexpr std::string_view kAskPrefix = "/ask/";
constexpr size_t kLongestKind = 32;
constexpr size_t kLongestTab = 64;

char lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same_word(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower_case, lower_case);
}

std::string_view without_spaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// A proxy and we could read two headers of one name in different ways.
std::optional<PageReply> refuse_repeated(const RequestHead& head) {
  constexpr auto names = std::to_array<std::string_view>(
      {"host", "origin", "content-type", "content-length", "transfer-encoding", "sec-fetch-site",
       "sec-fetch-mode", "sec-fetch-dest", "x-tessera-token", "x-tessera-tab"});
  for (const std::string_view name : names) {
    const auto same = [&](const auto& header) { return same_word(header.first, name); };
    if (std::ranges::count_if(head.headers, same) > 1)
      return error_reply(400, fmt::format("the request has two headers {}", name), "send one");
  }
  return {};
}

bool is_our_name(std::string_view host, uint16_t port) {
  constexpr auto names = std::to_array<std::string_view>({"127.0.0.1", "localhost", "[::1]"});
  return std::ranges::any_of(names, [&](std::string_view name) {
    return same_word(host, fmt::format("{}:{}", name, port));
  });
}

std::optional<PageReply> refuse_strangers(const RequestHead& head, const AccessRule& rule) {
  const auto host = find_header(head, "host");
  if (!host || !is_our_name(*host, rule.port))
    return error_reply(403, "the request names another host",
                       fmt::format("open http://127.0.0.1:{}", rule.port));
  const auto origin = find_header(head, "origin");
  if (origin && *origin != fmt::format("http://{}", *host))
    return error_reply(403, "the request comes from another page", "ask from Studio's own page");
  // A link or the address line may open the page; nothing else of it is for other sites.
  const bool opens_page = head.method == "GET" &&
                          find_header(head, "sec-fetch-mode") == "navigate" &&
                          find_header(head, "sec-fetch-dest") == "document";
  const auto site = find_header(head, "sec-fetch-site");
  if (site && *site != "same-origin" && *site != "none" && !opens_page)
    return error_reply(403, "the request comes from another site", "ask from Studio's own page");
  return {};
}

std::optional<PageReply> refuse_body(const RequestHead& head) {
  if (find_header(head, "transfer-encoding"))
    return error_reply(411, "the request comes in chunks", "send it with a Content-Length");
  const auto length = find_header(head, "content-length");
  if (!length) return {};
  size_t bytes = 0;
  const auto [end, problem] = std::from_chars(length->begin(), length->end(), bytes);
  if (problem != std::errc() || end != length->end())
    return error_reply(400, "the Content-Length is no number", "send the number of bytes");
  if (bytes > kMostBodyBytes)
    return error_reply(413, fmt::format("the request has {} bytes", bytes),
                       fmt::format("send at most {}", kMostBodyBytes));
  return {};
}

bool is_json_type(std::string_view type) {
  return same_word(without_spaces(type.substr(0, type.find(';'))), "application/json");
}

bool is_tab_name(std::string_view tab) {
  return !tab.empty() && tab.size() <= kLongestTab && std::ranges::all_of(tab, [](char letter) {
    const char small = lower_case(letter);
    return (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9') || small == '_' ||
           small == '-' || small == '.';
  });
}

std::optional<PageReply> refuse_question(const RequestHead& head, const AccessRule& rule) {
  const auto token = find_header(head, "x-tessera-token");
  if (!token || !equal_secrets(*token, rule.token))
    return error_reply(401, "the token is missing or wrong",
                       "open the address that tessera studio printed when it was started");
  const auto type = find_header(head, "content-type");
  if (!type || !is_json_type(*type))
    return error_reply(415, "the question is not JSON", "send Content-Type: application/json");
  const auto tab = find_header(head, "x-tessera-tab");
  if (tab && !is_tab_name(*tab))
    return error_reply(400, "the name of the tab has other characters, or is too long",
                       "use at most 64 letters, digits, dots, dashes and underscores");
  if (!asked_kind(head.path)) return error_reply(404, "there is no such question", "ask /ask/KIND");
  return {};
}

}  // namespace

PageReply error_reply(int status, std::string_view what, std::string_view help) {
  return {.status = status, .body = Json{{"error", Json{{"what", what}, {"help", help}}}}.dump()};
}

std::optional<std::string_view> find_header(const RequestHead& head, std::string_view name) {
  for (const auto& [key, value] : head.headers)
    if (same_word(key, name)) return value;
  return {};
}

std::optional<std::string_view> asked_kind(std::string_view path) {
  if (!path.starts_with(kAskPrefix)) return {};
  const std::string_view kind = path.substr(kAskPrefix.size());
  const bool fits = !kind.empty() && kind.size() <= kLongestKind &&
                    kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
  return fits ? std::optional(kind) : std::nullopt;
}

std::optional<PageReply> refuse_request(const RequestHead& head, const AccessRule& rule) {
  if (head.bytes > kMostHeaderBytes)
    return error_reply(431, fmt::format("the request's head has {} bytes", head.bytes),
                       fmt::format("send at most {}", kMostHeaderBytes));
  if (auto refused = refuse_repeated(head)) return refused;
  if (auto refused = refuse_strangers(head, rule)) return refused;
  if (auto refused = refuse_body(head)) return refused;
  const bool asks = head.path.starts_with(kAskPrefix);
  if (asks ? head.method != "POST" : head.method != "GET" && head.method != "HEAD")
    return error_reply(405, fmt::format("this path does not take {}", asks ? "GET" : "POST"),
                       asks ? "send a POST" : "send a GET");
  return asks ? refuse_question(head, rule) : std::nullopt;
}

}  // namespace tessera
