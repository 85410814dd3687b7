// SPDX-License-Identifier: Apache-2.0
// A model of bytes with random weights that writes small letters, full stops, and the mark that
// ends an answer.
#include "inference/chat_session.h"

#include <gtest/gtest.h>

#include "config/run_spec.h"
#include "core/error.h"
#include "models/build_model.h"

namespace tessera {
namespace {

constexpr char kEnd = '\x03';
const char* const kSimple =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\x03{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

bool is_written(int64_t token) {
  return (token >= 'a' && token <= 'z') || token == '.' || token == kEnd;
}

// Letters are far likelier than all else, and differ with what came before.
void write_weights(Executor& executor) {
  initialise_states(executor, 1);
  for (const StateBuffer& state : executor.program().states) {
    if (state.spec.role == StateRole::Cache) continue;
    std::vector<double> values(static_cast<size_t>(state.type.num_elements()));
    executor.read_state(state, std::as_writable_bytes(std::span(values)));
    const int64_t row = std::ssize(values) / 256;
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      double& value = values[static_cast<size_t>(i)];
      if (state.name == "head.table")
        value = is_written(i / row) ? 100 * value : 0;
      else if (!state.name.ends_with("norm"))
        value *= 10;
    }
    executor.write_state(state, std::as_bytes(std::span(values)));
  }
}

Json message(const char* role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

class Talk {
 public:
  explicit Talk(int64_t window = 512, const char* source = kSimple)
      : chat_(source, "test"), generator_(model(), DType::Fp64, {.window = window}) {
    write_weights(generator_.executor());
  }

  ChatAnswer ask(const std::string& question) {
    messages_.push_back(message("user", question));
    return again();
  }
  ChatAnswer again() {
    const ChatAnswer answer = session_.answer(messages_, options_, [&](std::string_view piece) {
      told_ += piece;
      return told_.size() < stop_after_;
    });
    told_ += answer.rest;
    messages_.push_back(message("assistant", answer.text));
    return answer;
  }

  static ModelConfig model() {
    return resolve_model(
        load_config({}, std::vector<std::string>{"model.preset=tiny", "model.tied=false"}));
  }

  ChatTemplate chat_;
  TokenText words_{"", 256};
  TextGenerator generator_;
  ChatSession session_{generator_, chat_, words_, {}};
  Json messages_ = Json::array();
  AnswerOptions options_{.tokens = 20, .choice = {.temperature = 1}, .seed = 5};
  std::string told_;
  size_t stop_after_ = 1 << 20;
};

// What the model wrote, without the mark that ends it: those tokens were run.
int64_t run_tokens(const ChatAnswer& answer) {
  return std::ssize(answer.tokens) - (answer.end == AnswerEnd::Finished ? 1 : 0);
}

TEST(ChatSession, ComputesWhatIsNewAlone) {
  Talk talk;
  talk.messages_.push_back(message("system", "Speak."));
  int64_t held = 0;
  for (const char* question : {"Is it so?", "Why?", "And then? Tell me all that you know."}) {
    const ChatAnswer answer = talk.ask(question);
    EXPECT_EQ(answer.computed_tokens, answer.prompt_tokens - held) << question;
    EXPECT_GT(answer.tokens.size(), 1U);
    // The last token of an answer that is cut off was not read by anyone yet.
    held = answer.prompt_tokens + run_tokens(answer) - (answer.end == AnswerEnd::MostTokens);
  }
}

// Whose text begins after a space, which this model never writes.
TEST(ChatSession, ComputesWhatIsNewAloneWithThePlainTemplate) {
  Talk talk(512, kPlainChatTemplate);
  const ChatAnswer first = talk.ask("Is it so?"), second = talk.ask("Why?");
  EXPECT_LT(second.computed_tokens,
            std::ssize(std::string_view("x\x03\nUser: Why?\x03\nAssistant:")) + 1);
}

TEST(ChatSession, WritesWhatOneWithoutACacheDoes) {
  Talk talk;
  for (const char* question : {"Is it so?", "Why?", "And then?", "x"}) {
    const ChatAnswer answer = talk.ask(question);
    Talk fresh;
    for (size_t i = 0; i + 1 < talk.messages_.items().size(); ++i)
      fresh.messages_.push_back(talk.messages_.items()[i]);
    const ChatAnswer whole = fresh.again();
    EXPECT_EQ(answer.tokens, whole.tokens) << question;
    EXPECT_EQ(whole.computed_tokens, whole.prompt_tokens);
    EXPECT_EQ(answer.prompt_tokens, whole.prompt_tokens);
  }
}

TEST(ChatSession, EndsWithTheTemplatesMarkAndDoesNotShowIt) {
  Talk talk;
  talk.options_.tokens = 400;
  const ChatAnswer answer = talk.ask("Go on.");
  ASSERT_EQ(answer.end, AnswerEnd::Finished);
  EXPECT_EQ(answer.tokens.back(), kEnd);
  EXPECT_EQ(answer.text.size() + 1, answer.tokens.size());
  EXPECT_EQ(talk.told_, answer.text);
}

TEST(ChatSession, StopsWhenItIsToldAndGoesOnAfterwards) {
  Talk talk;
  talk.options_.tokens = 100;
  talk.stop_after_ = 4;
  const ChatAnswer stopped = talk.ask("Is it so?");
  EXPECT_EQ(stopped.end, AnswerEnd::Stopped);
  EXPECT_EQ(stopped.text.size(), 4U);
  talk.stop_after_ = 1 << 20;
  const ChatAnswer next = talk.ask("Why?");
  EXPECT_EQ(next.computed_tokens, next.prompt_tokens - (stopped.prompt_tokens + 3));
}

TEST(ChatSession, LeavesOutTheOldestTurnsButNotTheSystem) {
  Talk talk(128);
  talk.messages_.push_back(message("system", "Speak."));
  int64_t left_out = 0;
  int times = 0;
  for (int turn = 0; turn < 12; ++turn) {
    const ChatAnswer answer = talk.ask("Question " + std::to_string(turn));
    EXPECT_LE(answer.prompt_tokens + std::ssize(answer.tokens), 128);
    EXPECT_EQ(answer.left_out % 2, 0) << "whole turns";
    EXPECT_GE(answer.left_out, left_out);
    if (answer.left_out > left_out) {
      ++times;
      EXPECT_LE(answer.prompt_tokens, 64);
    }
    left_out = answer.left_out;
  }
  EXPECT_GT(times, 1);
  EXPECT_LT(times, 6) << "what is kept is read again each time";
  Talk fresh(128);
  fresh.messages_.push_back(message("system", "Speak."));
  const std::span<const Json> all = talk.messages_.items();
  for (size_t i = 1 + static_cast<size_t>(left_out); i + 1 < all.size(); ++i)
    fresh.messages_.push_back(all[i]);
  EXPECT_EQ(fresh.again().text, *all.back().find("content")->text());
}

TEST(ChatSession, SaysThatTheWindowIsFull) {
  Talk talk(64, "{{ messages[-1].content }}!");  // it writes no exclamation mark
  talk.options_.tokens = 400;
  const ChatAnswer answer = talk.ask("Speak at length, please.");
  EXPECT_EQ(answer.end, AnswerEnd::WindowFull);
  EXPECT_EQ(answer.prompt_tokens + std::ssize(answer.tokens), 64);
}

TEST(ChatSession, RefusesAMessageThatTheWindowCannotHold) {
  Talk talk(64);
  EXPECT_THROW(talk.ask(std::string(80, 'x')), UserError);
}

TEST(ChatSession, ContinuesAnEarlierPlaceOfTheConversation) {
  Talk talk;
  const ChatAnswer first = talk.ask("Is it so?");
  talk.ask("Why?");
  const std::span<const Json> all = talk.messages_.items();
  talk.messages_ = Json::array({all[0], all[1]});
  const ChatAnswer other = talk.ask("How?");
  EXPECT_LE(other.computed_tokens, other.prompt_tokens - first.prompt_tokens);
}

// Whatever the template does to earlier answers, as Qwen 3's leaves out their thoughts.
TEST(ChatSession, FollowsATemplateThatChangesEarlierAnswers) {
  const char* const source =
      "{% for m in messages %}<{{ m.content if m.role == 'user' or loop.last else 'cut' }}>"
      "{% endfor %}{% if add_generation_prompt %}<{% endif %}";
  Talk talk(512, source);
  talk.ask("a");
  const ChatAnswer second = talk.ask("b");
  EXPECT_EQ(second.prompt_tokens, std::ssize(std::string_view("<a><cut><b><")));
}

}  // namespace
}  // namespace tessera
