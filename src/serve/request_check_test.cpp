// SPDX-License-Identifier: Apache-2.0
#include "serve/request_check.h"

#include <gtest/gtest.h>

#include "serve/access_token.h"

namespace tessera {
namespace {

using Headers = std::vector<std::pair<std::string_view, std::string_view>>;

const AccessRule kRule{.port = 8642, .token = "0123456789abcdef0123456789abcdef"};

int status_of(const RequestHead& head) {
  const auto refused = refuse_request(head, kRule);
  return refused ? refused->status : 200;
}

RequestHead page_request(Headers more = {}) {
  RequestHead head{.method = "GET", .path = "/", .headers = {{"Host", "127.0.0.1:8642"}}};
  head.headers.insert(head.headers.end(), more.begin(), more.end());
  return head;
}

RequestHead question(Headers more = {}) {
  RequestHead head{.method = "POST", .path = "/ask/try", .headers = {{"host", "localhost:8642"}}};
  head.headers.insert(head.headers.end(), more.begin(), more.end());
  return head;
}

const Headers kComplete = {{"x-tessera-token", kRule.token}, {"Content-Type", "application/json"}};

Headers complete_with(std::string_view name, std::string_view value) {
  Headers headers = kComplete;
  headers.emplace_back(name, value);
  return headers;
}

TEST(RequestCheck, TakesThePageAndItsQuestions) {
  EXPECT_EQ(status_of(page_request()), 200);
  EXPECT_EQ(status_of(question(kComplete)), 200);
  EXPECT_EQ(status_of(question(complete_with("Origin", "http://localhost:8642"))), 200);
  EXPECT_EQ(status_of(question(complete_with("X-Tessera-Tab", "tab-1.left"))), 200);
}

TEST(RequestCheck, RefusesOtherNamesOfTheMachine) {
  for (const std::string_view host : {"evil.example:8642", "127.0.0.1", "127.0.0.1:8643", ""})
    EXPECT_EQ(status_of({.method = "GET", .path = "/", .headers = {{"Host", host}}}), 403) << host;
  EXPECT_EQ(status_of({.method = "GET", .path = "/"}), 403);
}

TEST(RequestCheck, RefusesAnOriginThatIsNotTheHost) {
  for (const std::string_view origin : {"http://127.0.0.1:8642", "https://localhost:8642", "null"})
    EXPECT_EQ(status_of(question(complete_with("Origin", origin))), 403) << origin;
}

TEST(RequestCheck, LetsOtherSitesOpenThePageOnly) {
  EXPECT_EQ(status_of(page_request({{"Sec-Fetch-Site", "cross-site"}})), 403);
  EXPECT_EQ(status_of(page_request({{"Sec-Fetch-Site", "cross-site"},
                                    {"Sec-Fetch-Mode", "navigate"},
                                    {"Sec-Fetch-Dest", "document"}})),
            200);
  EXPECT_EQ(status_of(page_request({{"Sec-Fetch-Site", "cross-site"},
                                    {"Sec-Fetch-Mode", "navigate"},
                                    {"Sec-Fetch-Dest", "iframe"}})),
            403);
  EXPECT_EQ(status_of(question(complete_with("Sec-Fetch-Site", "same-site"))), 403);
}

TEST(RequestCheck, RefusesQuestionsWithoutTheToken) {
  EXPECT_EQ(status_of(question({{"Content-Type", "application/json"}})), 401);
  EXPECT_EQ(
      status_of(question({{"X-Tessera-Token", "0123"}, {"Content-Type", "application/json"}})),
      401);
}

TEST(RequestCheck, RefusesTwoHeadersOfOneName) {
  for (const std::string_view name : {"Host", "X-TESSERA-TOKEN", "Content-Type"})
    EXPECT_EQ(status_of(question(complete_with(name, "x"))), 400) << name;
}

TEST(RequestCheck, RefusesBodiesThatAreLargeOrInChunks) {
  EXPECT_EQ(status_of(question(complete_with("Content-Length", "1048576"))), 200);
  EXPECT_EQ(status_of(question(complete_with("Content-Length", "1048577"))), 413);
  EXPECT_EQ(status_of(question(complete_with("Content-Length", "99999999999999999999"))), 400);
  EXPECT_EQ(status_of(question(complete_with("Content-Length", "+1"))), 400);
  EXPECT_EQ(status_of(question(complete_with("Transfer-Encoding", "chunked"))), 411);
}

TEST(RequestCheck, RefusesLargeHeads) {
  RequestHead head = page_request();
  head.bytes = kMostHeaderBytes;
  EXPECT_EQ(status_of(head), 200);
  ++head.bytes;
  EXPECT_EQ(status_of(head), 431);
}

TEST(RequestCheck, RefusesNamesOfTabsThatAreNone) {
  const std::string long_name(65, 'a');
  for (const std::string& tab : {std::string(), std::string("a b"), std::string("a/b"), long_name})
    EXPECT_EQ(status_of(question(complete_with("X-Tessera-Tab", tab))), 400) << tab;
}

TEST(RequestCheck, ReadsKindsOfQuestions) {
  EXPECT_EQ(asked_kind("/ask/why_not"), "why_not");
  for (const std::string_view path :
       {"/ask/", "/ask", "/", "/ask/a/b", "/ask/A", "/ask/a%20", "ask/a"})
    EXPECT_EQ(asked_kind(path), std::nullopt) << path;
}

TEST(AccessToken, HasItsLengthAndIsNeverTheSame) {
  const std::string one = make_access_token();
  EXPECT_EQ(one.size(), 32u);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(one, make_access_token());
}

TEST(AccessToken, EqualsItselfAlone) {
  EXPECT_TRUE(equal_secrets("abc", "abc"));
  for (const std::string_view other : {"", "ab", "abcd", "abd", "Abc"})
    EXPECT_FALSE(equal_secrets(other, "abc")) << other;
  EXPECT_FALSE(equal_secrets(std::string_view("abc\0", 4), "abc"));
}

}  // namespace
}  // namespace tessera
