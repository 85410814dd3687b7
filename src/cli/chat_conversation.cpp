// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_conversation.h"

#include <algorithm>
#include <filesystem>

#include "chat/conversation.h"
#include "core/error.h"
#include "files/atomic_file.h"

namespace tessera {

struct ChatConversation::Row {
  std::string name, argument, doc;
  std::string (ChatConversation::*run)(const std::string& rest);
};

const std::vector<ChatConversation::Row>& ChatConversation::rows() {
  static const std::vector<Row> rows{
      {"/reset", "", "begins a new conversation; what the system says stays",
       &ChatConversation::reset},
      {"/system", "[TEXT]",
       "what the system says from now on, \"\": nothing; without a text: shows it",
       &ChatConversation::set_system},
      {"/undo", "", "takes back the last question and its answer", &ChatConversation::undo},
      {"/save", "FILE", "writes the conversation as a line of JSON, as training on chats reads it",
       &ChatConversation::save},
      {"/help", "", "shows this", &ChatConversation::help},
      {"/quit", "", "ends the chat, as Ctrl-D does", &ChatConversation::quit}};
  return rows;
}

bool ChatConversation::is_command(const std::string& line) {
  return line.starts_with('/') && !line.starts_with("//");
}

std::string ChatConversation::run(const std::string& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const size_t begin = std::min(line.find_first_not_of(' ', end), line.size());
  const size_t last = line.find_last_not_of(' ');
  const std::string rest = line.substr(begin, last + 1 - begin);
  for (const Row& row : rows()) {
    if (row.name != line.substr(0, end)) continue;
    if (row.argument.empty() && !rest.empty())
      throw user_error("{} takes no text, but was given: {}", row.name, rest)
          .help(
              "/help lists the commands; a question that begins with a slash is written with two");
    return (this->*row.run)(rest);
  }
  throw user_error("there is no command {}", line.substr(0, end))
      .help("/help lists them; a question that begins with a slash is written with two");
}

std::string ChatConversation::help(const std::string& /*rest*/) {
  std::string text;
  for (const Row& row : rows())
    text += fmt::format("{:16}{}\n", row.name + ' ' + row.argument, row.doc);
  return text +
         "//...           a question that begins with a slash\n"
         "Ctrl-C stops an answer; what it says so far stays.";
}

std::string ChatConversation::reset(const std::string& /*rest*/) {
  turns_.clear();
  return "a new conversation";
}

std::string ChatConversation::set_system(const std::string& rest) {
  if (!rest.empty()) system_ = rest == "\"\"" ? "" : rest;
  return system_.empty() ? "the system says nothing" : "the system says: " + system_;
}

std::string ChatConversation::undo(const std::string& /*rest*/) {
  if (turns_.empty()) return "there is nothing to take back";
  while (role_of(turns_.back()) != "user") turns_.pop_back();
  turns_.pop_back();
  return fmt::format("taken back; {} turns are left", turns_.size() / 2);
}

std::string ChatConversation::save(const std::string& rest) {
  if (rest.empty()) throw user_error("/save needs a file").help("/save conversation.jsonl");
  std::error_code ignored;
  if (std::filesystem::exists(rest, ignored) && !saved_.contains(rest))
    throw user_error("{} is there already", rest).help("name another file");
  write_file_atomically(rest, Json{{"messages", messages()}}.dump() + "\n");
  saved_.insert(rest);
  return fmt::format("{} has {} messages", rest, messages().items().size());
}

std::string ChatConversation::quit(const std::string& /*rest*/) {
  ended_ = true;
  return "";
}

void ChatConversation::ask(const std::string& line) {
  const std::string question = line.starts_with("//") ? line.substr(1) : line;
  turns_.push_back({{"role", "user"}, {"content", question}});
}

void ChatConversation::answer(const std::string& text) {
  turns_.push_back({{"role", "assistant"}, {"content", text}});
}

Json ChatConversation::messages() const {
  Json messages = Json::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const Json& turn : turns_) messages.push_back(turn);
  return messages;
}

}  // namespace tessera
