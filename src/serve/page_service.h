// SPDX-License-Identifier: Apache-2.0
// What a server of one page offers: the files of the page, and the questions that it may ask.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

struct PageFile {
  std::string type, bytes, etag;
};

struct PageReply {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
};

// Of a stream: sends a line of JSON. Any question may call it with nothing to see whether it may
// stop. False: nobody listens any more.
using TellPage = std::function<bool(std::string_view line)>;

struct PageQuestion {
  // Called from any thread, and several at once. What a stream returns is its last line, or, with a
  // status other than 200 and before anything was told, the whole reply.
  std::function<PageReply(std::string_view body, const TellPage& tell)> answer;
  bool streams = false;
  std::string alone = {};  // of those with the same text one at a time, for all tabs
};

struct PageService {
  std::function<std::optional<PageFile>(std::string_view path)> file;
  std::function<std::optional<PageQuestion>(std::string_view kind)> question;
};

// {"error": {"what": ..., "help": ...}}
PageReply error_reply(int status, std::string_view what, std::string_view help);

}  // namespace tessera
