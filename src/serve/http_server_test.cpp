// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "core/error.h"
#include "fmt/format.h"

namespace tessera {
namespace {

const std::string kToken(32, 'a');

// A connection that has asked; it ends with the object.
class Client {
 public:
  Client(uint16_t port, const std::string& kind) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request = fmt::format(
        "POST /ask/{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Tessera-Token: {}\r\nContent-Type: "
        "application/json\r\nContent-Length: 2\r\n\r\n{{}}",
        kind, port, kToken);
    EXPECT_EQ(::send(socket_, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Up to the end, or until the text is in it.
  std::string read_until(const std::string& text = "no such text") {
    std::array<char, 4096> part{};
    while (read_.find(text) == std::string::npos) {
      const ssize_t count = ::recv(socket_, part.data(), part.size(), 0);
      if (count <= 0) break;
      read_.append(part.data(), static_cast<size_t>(count));
    }
    return read_;
  }

 private:
  int socket_;
  std::string read_;
};

PageQuestion plain_question(std::function<PageReply(const TellPage&)> answer) {
  return {.answer = [answer](std::string_view, const TellPage& tell) { return answer(tell); }};
}

PageQuestion stream_question(std::function<PageReply(const TellPage&)> answer) {
  PageQuestion question = plain_question(std::move(answer));
  question.streams = true;
  return question;
}

PageService service_of(PageQuestion question) {
  return {.file = [](std::string_view) { return std::nullopt; },
          .question = [question](std::string_view) { return question; }};
}

TEST(HttpServer, HidesWhatAnExceptionSays) {
  const HttpServer server(service_of(plain_question([](const TellPage&) -> PageReply {
                            throw std::runtime_error("a secret");
                          })),
                          0, kToken);
  testing::internal::CaptureStderr();
  const std::string reply = Client(server.port(), "any").read_until();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("a secret"), std::string::npos);
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 500 "));
  EXPECT_EQ(reply.find("a secret"), std::string::npos);
}

TEST(HttpServer, ExceptionsInAStreamAreItsLastLine) {
  const HttpServer server(service_of(stream_question([](const TellPage& tell) -> PageReply {
                            tell(R"({"first":1})");
                            throw std::runtime_error("a secret");
                          })),
                          0, kToken);
  testing::internal::CaptureStderr();
  const std::string reply = Client(server.port(), "any").read_until();
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 "));
  EXPECT_NE(reply.find("first"), std::string::npos);
  EXPECT_NE(reply.find(R"("error")"), std::string::npos);
  EXPECT_EQ(reply.find("a secret"), std::string::npos);
}

TEST(HttpServer, SendsLinesAsTheyAreTold) {
  std::atomic<bool> go_on = false;
  const HttpServer server(service_of(stream_question([&](const TellPage& tell) -> PageReply {
                            tell("{\"first\":1}");
                            while (!go_on) std::this_thread::yield();
                            return {.body = "{\"done\":true}"};
                          })),
                          0, kToken);
  Client client(server.port(), "any");
  const std::string begun = client.read_until("first");
  EXPECT_EQ(begun.find("done"), std::string::npos);
  go_on = true;
  EXPECT_NE(client.read_until().find("done"), std::string::npos);
}

TEST(HttpServer, TellsAnAnswerThatItsClientHasGone) {
  std::atomic<int> ended = 0, begun = 0;
  const auto go_on = [&](const TellPage& tell) -> PageReply {
    ++begun;
    while (tell("")) std::this_thread::yield();
    ++ended;
    return {};
  };
  for (const PageQuestion& question : {plain_question(go_on), stream_question(go_on)}) {
    const HttpServer server(service_of(question), 0, kToken);
    const int before = begun;
    {
      const Client client(server.port(), "any");
      while (begun == before) std::this_thread::yield();
    }
    while (ended == before) std::this_thread::yield();
  }
  EXPECT_EQ(ended, 2);
}

TEST(HttpServer, EndsWhileAQuestionIsAnswered) {
  std::atomic<bool> begun = false;
  auto server = std::make_unique<HttpServer>(
      service_of(plain_question([&](const TellPage& tell) -> PageReply {
        begun = true;
        while (tell("")) std::this_thread::yield();
        return {};
      })),
      0, kToken);
  const Client client(server->port(), "any");
  while (!begun) std::this_thread::yield();
  server.reset();
}

TEST(HttpServer, RefusesAPortThatIsTaken) {
  const HttpServer server(service_of({}), 0, kToken);
  EXPECT_THROW(HttpServer(service_of({}), server.port(), kToken), UserError);
}

}  // namespace
}  // namespace tessera
