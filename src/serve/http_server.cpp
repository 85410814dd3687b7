// SPDX-License-Identifier: Apache-2.0
// The server of http_server.h over libmicrohttpd: a thread for each connection, a connection for
// each request. The thread waits while the question is answered, and looks meanwhile whether the
// client is still there.
#include "serve/http_server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"
#include "serve/connection_watch.h"
#include "serve/line_stream.h"
#include "serve/loopback_sockets.h"
#include "serve/question_turns.h"
#include "serve/request_check.h"
#include "system/say.h"

namespace tessera {

// What all connections share.
struct ServedPage {
  PageService service;
  AccessRule rule = {};
  QuestionTurns turns{static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};
  ConnectionWatch watch = {};
};

namespace {

constexpr size_t kMostConnections = 32;
constexpr double kSecondsToAsk = 10, kSecondsToTake = 60;
constexpr double kSecondsUntilAlone = 2, kSecondsToRefuse = 0.25;
// Of a connection: twice the head, since the library keeps its own records there, too.
constexpr size_t kConnectionBytes = 2 * kMostHeaderBytes;

constexpr auto kHeaders = std::to_array<std::pair<const char*, const char*>>({
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
     "'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    // Not same-origin: the page opens Perfetto and sends it a trace.
    {"Cross-Origin-Opener-Policy", "same-origin-allow-popups"},
    {"Connection", "close"},
});

// A stream's answer, which a thread of its own writes.
struct StreamedAnswer {
  LineStream lines;
  PageReply last;
  std::shared_ptr<QuestionTurns::Turn> turn;
  std::thread thread;
};

struct Exchange {
  ServedPage& served;
  MHD_Connection* connection;
  int socket;
  std::optional<PageReply> refused = {};
  std::string body = {};
  std::unique_ptr<StreamedAnswer> stream = {};

  bool is_gone() const { return is_closed_by_peer(socket); }
};

RequestHead head_of(MHD_Connection* connection, const char* path, const char* method) {
  RequestHead head{.method = method, .path = path};
  const auto add = [](void* to, MHD_ValueKind, const char* key, size_t key_size, const char* value,
                      size_t value_size) {
    static_cast<RequestHead*>(to)->headers.emplace_back(
        std::string_view(key, key_size),
        value ? std::string_view(value, value_size) : std::string_view());
    return MHD_YES;
  };
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, add, &head);
  if (const auto* info =
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE))
    head.bytes = info->header_size;
  return head;
}

MHD_Result send_response(Exchange& exchange, int status, MHD_Response* response,
                         const std::string& type) {
  TESSERA_CHECK(response);
  for (const auto& [name, value] : kHeaders) MHD_add_response_header(response, name, value);
  MHD_add_response_header(response, "Content-Type", type.c_str());
  exchange.served.watch.allow(exchange.connection, kSecondsToTake);
  const MHD_Result result =
      MHD_queue_response(exchange.connection, static_cast<unsigned>(status), response);
  MHD_destroy_response(response);
  return result;
}

MHD_Response* response_of(const std::string& bytes) {
  return MHD_create_response_from_buffer(bytes.size(), const_cast<char*>(bytes.data()),
                                         MHD_RESPMEM_MUST_COPY);
}

MHD_Result send_reply(Exchange& exchange, const PageReply& reply) {
  MHD_Response* response = response_of(reply.body);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  return send_response(exchange, reply.status, response, reply.type);
}

MHD_Result send_file(Exchange& exchange, const RequestHead& head) {
  const std::optional<PageFile> file = exchange.served.service.file(head.path);
  if (!file) return send_reply(exchange, error_reply(404, "there is no such file", "open /"));
  const bool known = find_header(head, "if-none-match") == file->etag;
  MHD_Response* response = response_of(known ? std::string() : file->bytes);
  MHD_add_response_header(response, "Cache-Control", "no-cache");
  MHD_add_response_header(response, "ETag", file->etag.c_str());
  return send_response(exchange, known ? 304 : 200, response, file->type);
}

// No exception ends the server, and none but a UserError, which is an answer, tells the page more
// than that there was one.
PageReply answer_safely(std::string_view kind, const PageQuestion& question, std::string_view body,
                        const TellPage& tell) {
  try {
    return question.answer(body, tell);
  } catch (const std::exception& error) {
    say(stderr, "error: the question {} failed: {}\n", kind, error.what());
  } catch (...) {
    say(stderr, "error: the question {} failed\n", kind);
  }
  return error_reply(500, "the question could not be answered: an internal error",
                     "the terminal of tessera studio shows it");
}

PageReply cancelled_reply() {
  return error_reply(409, "a newer question has replaced this one", "wait for its answer");
}

MHD_Result answer_at_once(Exchange& exchange, std::string_view kind, const PageQuestion& question,
                          QuestionTurns::Turn& turn) {
  const auto gone = [&] { return exchange.is_gone(); };
  if (!exchange.served.turns.wait_for_core(turn, gone))
    return send_reply(exchange, cancelled_reply());
  const PageReply reply = answer_safely(kind, question, exchange.body, [&](std::string_view) {
    return !turn.cancelled() && !exchange.is_gone();
  });
  return send_reply(exchange, turn.cancelled() ? cancelled_reply() : reply);
}

ssize_t take_lines(void* of, uint64_t, char* to, size_t most) {
  Exchange& exchange = *static_cast<Exchange*>(of);
  exchange.served.watch.allow(exchange.connection, std::nullopt);
  const long count = exchange.stream->lines.take(
      to, most, [&] { return exchange.is_gone() || exchange.stream->turn->cancelled(); });
  exchange.served.watch.allow(exchange.connection, kSecondsToTake);
  if (count > 0) return count;
  return count == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

MHD_Result answer_as_stream(Exchange& exchange, const std::string& kind,
                            const PageQuestion& question,
                            std::shared_ptr<QuestionTurns::Turn> turn) {
  exchange.stream = std::make_unique<StreamedAnswer>();
  StreamedAnswer& stream = *exchange.stream;
  stream.turn = std::move(turn);
  stream.thread = std::thread([&exchange, &stream, kind, question] {
    const auto tell = [&](std::string_view line) {
      return !stream.turn->cancelled() && stream.lines.tell(line);
    };
    stream.last = answer_safely(kind, question, exchange.body, tell);
    if (stream.last.status == 200 || stream.lines.has_begun_within(0)) tell(stream.last.body);
    stream.lines.finish();
  });
  stream.lines.has_begun_within(kSecondsToRefuse);
  if (stream.lines.ended_without_lines()) return send_reply(exchange, stream.last);
  MHD_Response* response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 * 1024,
                                                             take_lines, &exchange, nullptr);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  return send_response(exchange, 200, response, "application/x-ndjson");
}

MHD_Result answer(Exchange& exchange, const RequestHead& head) {
  const std::string kind(asked_kind(head.path).value());
  const std::optional<PageQuestion> question = exchange.served.service.question(kind);
  if (!question)
    return send_reply(exchange, error_reply(404, fmt::format("there is no question {}", kind),
                                            "see docs/studio.md for the questions"));
  QuestionTurns& turns = exchange.served.turns;
  std::shared_ptr<QuestionTurns::Turn> turn =
      turns.begin(std::string(find_header(head, "x-tessera-tab").value_or("")), kind);
  if (!question->alone.empty() &&
      !turns.wait_to_be_alone(*turn, question->alone, kSecondsUntilAlone))
    return send_reply(exchange,
                      turn->cancelled()
                          ? cancelled_reply()
                          : error_reply(409, fmt::format("another {} is running", question->alone),
                                        "wait for it, or stop it in the other tab"));
  return question->streams ? answer_as_stream(exchange, kind, *question, std::move(turn))
                           : answer_at_once(exchange, kind, *question, *turn);
}

MHD_Result take_part(ServedPage& served, MHD_Connection* connection, const char* path,
                     const char* method, const char* part, size_t* part_bytes, void** kept) {
  if (!*kept) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    auto* exchange = new Exchange{served, connection, info->connect_fd};
    *kept = exchange;
    exchange->refused = refuse_request(head_of(connection, path, method), served.rule);
    return exchange->refused ? send_reply(*exchange, *exchange->refused) : MHD_YES;
  }
  Exchange& exchange = *static_cast<Exchange*>(*kept);
  if (*part_bytes > 0) {
    if (exchange.body.size() + *part_bytes > kMostBodyBytes) return MHD_NO;
    exchange.body.append(part, *part_bytes);
    *part_bytes = 0;
    return MHD_YES;
  }
  served.watch.allow(connection, std::nullopt);
  const RequestHead head = head_of(connection, path, method);
  return asked_kind(path) ? answer(exchange, head) : send_file(exchange, head);
}

// Called with the head alone, then with each part of the body, then at its end. The library is C:
// nothing may be thrown through it.
MHD_Result handle(void* of, MHD_Connection* connection, const char* path, const char* method,
                  const char*, const char* part, size_t* part_bytes, void** kept) {
  try {
    return take_part(*static_cast<ServedPage*>(of), connection, path, method, part, part_bytes,
                     kept);
  } catch (const std::exception& error) {
    say(stderr, "error: a request failed: {}\n", error.what());
    return MHD_NO;  // closes the connection
  }
}

void end_exchange(void*, MHD_Connection*, void** kept, MHD_RequestTerminationCode) {
  const std::unique_ptr<Exchange> exchange(static_cast<Exchange*>(*kept));
  *kept = nullptr;
  if (!exchange || !exchange->stream) return;
  exchange->stream->turn->cancel();
  exchange->stream->lines.stop_listening();
  exchange->stream->thread.join();
}

void watch_connection(void* of, MHD_Connection* connection, void**,
                      MHD_ConnectionNotificationCode what) {
  ServedPage& served = *static_cast<ServedPage*>(of);
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (what == MHD_CONNECTION_NOTIFY_STARTED)
    served.watch.add(connection, info->connect_fd, kSecondsToAsk);
  else
    served.watch.remove(connection);
}

MHD_Result accept_few(void* of, const sockaddr*, socklen_t) {
  return static_cast<ServedPage*>(of)->watch.count() < kMostConnections ? MHD_YES : MHD_NO;
}

// Paths stay as they were sent: the table of files knows no other spelling.
size_t leave_escapes(void*, MHD_Connection*, char* text) { return std::strlen(text); }

MHD_Daemon* serve_on(int socket, ServedPage& served) {
  MHD_Daemon* daemon = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC,
      0, accept_few, &served, handle, &served, MHD_OPTION_LISTEN_SOCKET, socket,
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(kMostConnections),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_NOTIFY_COMPLETED,
      end_exchange, nullptr, MHD_OPTION_NOTIFY_CONNECTION, watch_connection, &served,
      MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, nullptr, MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_END);
  if (!daemon) ::close(socket);
  return daemon;
}

}  // namespace

struct HttpServer::State {
  ServedPage served;
  std::vector<MHD_Daemon*> daemons = {};

  ~State() {
    served.turns.cancel_all();
    for (MHD_Daemon* daemon : daemons) MHD_stop_daemon(daemon);
  }
};

HttpServer::HttpServer(PageService service, uint16_t port, std::string token)
    : state_(new State{.served{.service = std::move(service)}}) {
  LoopbackSockets sockets(port);
  state_->served.rule = {.port = sockets.port(), .token = std::move(token)};
  for (const int socket : sockets.release())
    if (MHD_Daemon* daemon = serve_on(socket, state_->served)) state_->daemons.push_back(daemon);
  if (state_->daemons.empty())
    throw UserError("the web server could not start")
        .help("see whether this user may start threads");
}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return state_->served.rule.port; }

}  // namespace tessera
