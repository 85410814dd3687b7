// SPDX-License-Identifier: Apache-2.0
#include "chat/conversation.h"

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kLineDepth = 32;

[[noreturn]] void refuse_line(const std::string& place, std::string message) {
  throw UserError(std::move(message))
      .at(place)
      .help(R"(each line is {"messages": [{"role": "user", "content": "..."}, ...]})");
}

std::string role_of_sharegpt(const std::string& from) {
  if (from == "human") return "user";
  if (from == "gpt" || from == "model" || from == "chatgpt") return "assistant";
  if (from == "observation" || from == "function_response") return "tool";
  return from;
}

Json message_of_sharegpt(const Json& turn, const std::string& place) {
  const Json *from = turn.find("from"), *value = turn.find("value");
  if (!from || !from->text() || !value)
    refuse_line(place, "a turn of conversations has no \"from\" or no \"value\"");
  return {{"role", role_of_sharegpt(*from->text())}, {"content", *value}};
}

void add_message(Conversation& conversation, Json message, const std::string& place) {
  if (role_of(message).empty() || (!message.find("content") && !message.find("tool_calls")))
    refuse_line(place, "a message has no \"role\" or no \"content\"");
  conversation.messages.push_back(std::move(message));
}

}  // namespace

std::string role_of(const Json& message) {
  const Json* role = message.find("role");
  return role && role->text() ? *role->text() : "";
}

Conversation read_conversation(std::string_view line, const std::string& place) {
  Json json;
  const std::string wrong = parse_json(line, kLineDepth, json);
  if (!wrong.empty()) refuse_line(place, "the line " + wrong);
  Conversation conversation{.messages = Json::array(), .variables = {}};
  if (const Json* messages = json.find("messages")) {
    for (const Json& message : messages->items()) add_message(conversation, message, place);
  } else if (const Json* turns = json.find("conversations")) {
    if (const Json* system = json.find("system"); system && system->text())
      conversation.messages.push_back({{"role", "system"}, {"content", *system}});
    for (const Json& turn : turns->items())
      add_message(conversation, turn.find("role") ? turn : message_of_sharegpt(turn, place), place);
  }
  if (conversation.messages.items().empty()) refuse_line(place, "the line has no messages");
  if (const Json* tools = json.find("tools"); tools && tools->is_array())
    conversation.variables.push_back({"tools", *tools});
  return conversation;
}

}  // namespace tessera
