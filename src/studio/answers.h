// SPDX-License-Identifier: Apache-2.0
// The table of questions that the page asks, and their answers: JSON in, JSON or columns of numbers
// out. The CLI's --json, the server and WebAssembly answer from it. No answer prints, and none but
// those marked so reads a file or runs a kernel.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "files/json.h"

namespace tessera {

class KeptChat;
class RunFolders;
class StartedRuns;

struct Question {
  Json fields = Json::object();
  // Of a stream: called with each part of the answer. False: nobody listens any more.
  // Called with null it only asks.
  std::function<bool(const Json&)> tell = {};
  const RunFolders* runs = nullptr;  // that Studio was given; none: it was given no folders
  StartedRuns* started = nullptr;    // none: it may start no runs
  KeptChat* chat = nullptr;          // none: a model is loaded for each question
};

struct Answer {
  Json json;
  std::string columns =
      {};  // numbers, little-endian, in the order of json's "columns"; mostly none
};

struct QuestionKind {
  std::string_view name, summary;
  Answer (*answer)(const Question&);
  bool streams = false;      // calls `tell`
  bool needs_files = false;  // reads run folders or runs kernels: not answered in WebAssembly
};

std::span<const QuestionKind> question_kinds();
const QuestionKind& question_kind(std::string_view name);  // a UserError where there is none

// The fields of a question from text, of bounded size and depth. A UserError where it is no object.
Question parse_question(std::string_view text);

// A UserError where the kind or a field is not known or does not fit.
Answer ask(std::string_view kind, const Question& question);

// {"error": {"what": ..., "where": ..., "help": ...}}
Json error_json(const UserError& error);

// An answer with columns as one text: the length of its JSON, padded to a multiple of 4 bytes, as
// 32 bits, little-endian; that JSON; the columns.
std::string packed(const Answer& answer);

}  // namespace tessera
