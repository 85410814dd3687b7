// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_encoder.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

const char* const kTwoTurns =
    R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
        {"role": "assistant", "content": "bc"}, {"role": "user", "content": "d"},
        {"role": "assistant", "content": "e"}]})";

// What is learned between brackets.
std::string shown(const ChatTokens& text) {
  std::string out;
  bool inside = false;
  for (size_t i = 0; i < text.tokens.size(); ++i) {
    if (text.learned[i] != inside) out += inside ? ']' : '[';
    inside = text.learned[i];
    out += static_cast<char>(text.tokens[i]);
  }
  return inside ? out + ']' : out;
}

std::vector<std::string> encoded(const std::string& source, const std::string& line,
                                 const std::set<std::string>& roles = {"assistant"}) {
  const ChatTemplate chat(source, "test");
  std::vector<std::string> texts;
  for (const ChatTokens& text :
       ChatEncoder(chat, nullptr).encode(read_conversation(line, "l"), roles))
    texts.push_back(shown(text));
  return texts;
}

const char* const kSimple =
    "{% for m in messages %}<{{ m.role[0] }}>{{ m.content }};{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}";

TEST(ChatEncoder, LearnsTheTurnsOfTheChosenRoles) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(encoded(kSimple, kTwoTurns), Texts{"<s>s;<u>a;<a>[bc;]<u>d;<a>[e;]"});
  EXPECT_EQ(encoded(kSimple, kTwoTurns, {"user"}), Texts{"<s>s;[<u>a;]<a>bc;[<u>d;]<a>e;"});
  EXPECT_EQ(encoded(kSimple, kTwoTurns, {"tool"}), Texts{"<s>s;<u>a;<a>bc;<u>d;<a>e;"});
}

TEST(ChatEncoder, LearnsWhatTheTemplateMarks) {
  const char* const marks =
      "{% for m in messages %}{{ m.role[0] }}:{% if m.role == 'assistant' %}"
      "{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}."
      "{% endfor %}";
  EXPECT_EQ(encoded(marks, kTwoTurns), std::vector<std::string>{"s:s.u:a.a:[bc].u:d.a:[e]."});
}

// As Qwen 3 leaves out the thoughts of earlier answers: what was prompted never became this text.
TEST(ChatEncoder, GivesAnAnswerThatLaterTurnsChangeATextOfItsOwn) {
  const char* const thinks =
      "{% for m in messages %}<{{ m.role[0] }}>{% if m.role == 'assistant' and loop.last %}(){% "
      "endif %}{{ m.content }};{% endfor %}{% if add_generation_prompt %}<a>{% endif %}";
  EXPECT_EQ(encoded(thinks, kTwoTurns),
            (std::vector<std::string>{"<s>s;<u>a;<a>[()bc;]", "<s>s;<u>a;<a>bc;<u>d;<a>[()e;]"}));
}

TEST(ChatEncoder, RefusesATemplateWhoseAnswerDoesNotFollowItsPrompt) {
  const char* const ends =
      "{% for m in messages %}{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}!{% endif %}";
  EXPECT_THROW(encoded(ends, kTwoTurns), UserError);
}

TEST(ChatEncoder, FindsTheTokenThatEndsAnAnswer) {
  const ChatTemplate simple(kSimple, "test"), endless("{{ messages[-1].content }}", "test");
  EXPECT_EQ(ChatEncoder(simple, nullptr).answer_end(), int32_t{';'});
  EXPECT_EQ(ChatEncoder(endless, nullptr).answer_end(), std::nullopt);
}

TEST(Conversation, IsReadInBothLayouts) {
  const Conversation openai = read_conversation(kTwoTurns, "l");
  const Conversation sharegpt = read_conversation(
      R"({"system": "s", "conversations": [{"from": "human", "value": "a"},
          {"from": "gpt", "value": "bc"}, {"from": "human", "value": "d"},
          {"from": "gpt", "value": "e"}]})",
      "l");
  EXPECT_EQ(openai.messages, sharegpt.messages);
  for (const char* line : {"{", "{}", R"({"messages": []})", R"({"messages": [{"role": "user"}]})",
                           R"({"conversations": [{"from": "human"}]})",
                           R"({"conversations": [{"role": 5, "content": "a"}]})",
                           R"({"conversations": [{"role": "user"}]})"})
    EXPECT_THROW(read_conversation(line, "l"), UserError) << line;
}

}  // namespace
}  // namespace tessera
