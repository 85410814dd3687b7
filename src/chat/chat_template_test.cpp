// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

std::string rendered(const std::string& source, const std::string& messages = "[]") {
  return ChatTemplate(source, "test", {{"bos_token", "<s>"}}).apply(parse_json(messages)).text;
}

std::string refusal(const std::string& source) {
  try {
    rendered(source);
  } catch (const UserError& error) {
    return error.message();
  }
  return "";
}

// Python writes the date of these vectors as 2026-11-19, a Thursday.
std::tm stored_date() {
  std::tm date{};
  date.tm_year = 126;
  date.tm_mon = 10;
  date.tm_mday = 19;
  date.tm_wday = 4;
  date.tm_yday = 322;
  return date;
}

std::vector<JsonMember> members_of(const Json& json) {
  return {json.members().begin(), json.members().end()};
}

// `wanted` is a text, or what the template says when it refuses: nothing for what Python itself
// refuses, in words of its own.
void expect_text(const ChatTemplate& chat, const Json& vector, const Json& wanted,
                 const std::string& title) {
  const ChatTextOptions options{.opens_answer = *vector.find("opens_answer")->flag(),
                                .variables = members_of(*vector.find("variables")),
                                .now = stored_date()};
  std::string text, refused;
  try {
    text = chat.apply(*vector.find("messages"), options).text;
  } catch (const UserError& error) {
    refused = error.report();
  }
  if (const Json* refusal = wanted.find("refuses")) {
    EXPECT_NE(refused, "") << title << "\n" << text;
    EXPECT_NE(refused.find(*refusal->text()), std::string::npos) << title << "\n" << refused;
  } else {
    EXPECT_EQ(refused, "") << title;
    EXPECT_EQ(text, *wanted.text()) << title;
  }
}

const std::filesystem::path kVectors = TESSERA_CHAT_VECTORS;

TEST(ChatTemplate, WritesHundredConversationsAsJinjaDoesWithTransformersSettings) {
  const Json file = parse_json(read_text(kVectors / "vectors.json"));
  const std::span<const Json> conversations = file.find("conversations")->items();
  EXPECT_EQ(conversations.size(), 100u);
  for (const JsonMember& text : conversations.front().find("texts")->members()) {
    const ChatTemplate chat(read_text(kVectors / text.name), text.name,
                            members_of(*file.find("tokens")));
    for (size_t i = 0; i < conversations.size(); ++i)
      expect_text(chat, conversations[i], *conversations[i].find("texts")->find(text.name),
                  text.name + ", conversation " + std::to_string(i));
  }
}

TEST(ChatTemplate, EvaluatesEachConstructAsJinjaDoes) {
  const Json file = parse_json(read_text(kVectors / "constructs.json"));
  EXPECT_GE(file.find("constructs")->items().size(), 32u);
  for (const Json& construct : file.find("constructs")->items()) {
    const std::string& source = *construct.find("source")->text();
    expect_text(ChatTemplate(source, "construct", members_of(*file.find("tokens"))), file,
                *construct.find("text"), source);
  }
}

TEST(ChatTemplate, TellsTheLineOfWhatItDoesNotSupport) {
  EXPECT_EQ(refusal("{% include 'x' %}"), "the tag 'include' is not supported");
  EXPECT_EQ(refusal("{{ 1 | groupby }}"), "the filter 'groupby' is not supported");
  EXPECT_EQ(refusal("{{ 1 is frozen }}"), "the test 'frozen' is not supported");
  try {
    rendered("a\nb\n{{ x.y }}");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.place(), "line 3 of the chat template, test");
  }
}

TEST(ChatTemplate, StopsATemplateThatWorksWithoutEnd) {
  const char* const grows =
      "{% set n = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}"
      "{% endfor %}";
  const char* const loops =
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  const char* const doubles =
      "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
      "{{ n.x }}";
  const char* const compares =
      "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}"
      "{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}";
  const char* const calls =
      "{% macro f(n) %}{% for i in range(9) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endfor %}"
      "{% endmacro %}{{ f(11) }}";
  for (const char* const source : {grows, loops, doubles, compares, calls})
    EXPECT_EQ(refusal(source), "the chat template takes more work than a template may") << source;
  EXPECT_EQ(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
            "macros call each other more than 12 deep");
  EXPECT_EQ(refusal("{% set n = namespace(x=[]) %}{% for i in range(70) %}{% set n.x = [n.x] %}"
                    "{% endfor %}"),
            "values are nested more than 64 deep");
  EXPECT_EQ(refusal("{{ " + std::string(99, '(') + "1" + std::string(99, ')') + " }}"),
            "expressions are nested more than 40 deep");
  EXPECT_EQ(refusal("{% set n = namespace() %}{% set n.x = n %}"),
            "a namespace cannot hold a namespace or a loop");
}

TEST(ChatTemplate, MarksWhatTheModelWrites) {
  const ChatTemplate chat(
      "{% for m in messages %}[{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
      "{% endgeneration %}{% else %}{{ m.content }}{% endif %}]{% endfor %}",
      "test");
  EXPECT_TRUE(chat.marks_generated());
  const ChatText text = chat.apply(
      parse_json(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "bcd"}])"));
  EXPECT_EQ(text.text, "[a][bcd]");
  ASSERT_EQ(text.generated.size(), 1u);
  EXPECT_EQ(text.generated[0], (std::pair<size_t, size_t>(4, 7)));
  EXPECT_FALSE(ChatTemplate(kPlainChatTemplate, "plain").marks_generated());
}

TEST(ChatTemplate, HasTemplatesForTokenizersWithoutOne) {
  const char* const messages =
      R"([{"role": "user", "content": " hello "}, {"role": "assistant", "content": "hi"}])";
  EXPECT_EQ(rendered(kPlainChatTemplate, messages), "User: hello\x03\nAssistant: hi\x03\n");
  EXPECT_EQ(rendered(kMarkedChatTemplate, messages),
            "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nhi<|im_end|>\n");
}

}  // namespace
}  // namespace tessera
