// SPDX-License-Identifier: Apache-2.0
// Any bytes as lines of conversations. One that is accepted has a role in every message, is written
// and read back the same, and becomes as many tokens as marks of what is learned.
#include "chat/chat_encoder.h"
#include "fuzz_input.h"

namespace tessera {
namespace {

std::string printed(const Conversation& conversation) {
  Json line{{"messages", conversation.messages}};
  for (const JsonMember& variable : conversation.variables) line[variable.name] = variable.value;
  return line.dump();
}

void encode(const Conversation& conversation) {
  static const ChatTemplate plain(kPlainChatTemplate, "plain"),
      marked(kMarkedChatTemplate, "marked");
  for (const ChatTemplate* chat : {&plain, &marked})
    may_refuse([&] {
      ChatEncoder encoder(*chat, nullptr, std::tm{});
      for (const ChatTokens& text : encoder.encode(conversation, {"assistant", "user"})) {
        must(text.tokens.size() == text.learned.size(), "every token is learned or not");
        for (const int32_t token : text.tokens)
          must(token >= 0 && token < 256, "a token is a byte");
      }
    });
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  each_line(data, size, [](std::string_view line) {
    std::optional<Conversation> read;
    may_refuse([&] { read = read_conversation(line, "input"); });
    if (!read) return;
    must(!read->messages.items().empty(), "a conversation has messages");
    for (const Json& message : read->messages.items())
      must(!role_of(message).empty(), "a message has a role");
    const std::string text = printed(*read);
    must(printed(read_conversation(text, "printed")) == text, "a conversation reads back");
    encode(*read);
  });
  return 0;
}
