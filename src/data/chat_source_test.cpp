// SPDX-License-Identifier: Apache-2.0
#include "data/chat_source.h"

#include <gtest/gtest.h>

#include <map>

#include "core/testing/temporary_folder.h"
#include "data/best_fit_source.h"
#include "data/token_sampler.h"
#include "files/testing/packed.h"
#include "tokenizer/testing/made_tokenizer.h"

namespace tessera {
namespace {

constexpr const char* kSimple =
    "{% for m in messages %}<{{ m.role[0] }}>{{ m.content }};{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}";

std::string line_of(const std::string& asked, const std::string& answered) {
  return fmt::format(R"({{"messages": [{{"role": "user", "content": "{}"}}, )"
                     R"({{"role": "assistant", "content": "{}"}}]}})"
                     "\n",
                     asked, answered);
}

// A sample as text, of labels with a dot where there is none.
struct Shown {
  std::string tokens, labels;
  std::vector<int32_t> positions, document;
};

Shown shown(const TokenSource& source, int64_t seq, int64_t window) {
  const auto size = static_cast<size_t>(seq);
  std::vector<int32_t> tokens(size), labels(size);
  Shown all{.tokens = {},
            .labels = {},
            .positions = std::vector<int32_t>(size),
            .document = std::vector<int32_t>(size)};
  fill_window(source, window * seq, true, {tokens, labels, all.positions, all.document});
  for (size_t i = 0; i < size; ++i) {
    all.tokens += static_cast<char>(tokens[i]);
    all.labels += labels[i] == kIgnoredLabel ? '.' : static_cast<char>(labels[i]);
  }
  return all;
}

class ChatSourceTest : public testing::Test {
 protected:
  ChatSource open(const std::string& lines, ChatSourceOptions options = {},
                  const std::string& chat = kSimple) const {
    const ChatFormat format{.tokenizer = {}, .chat = ChatTemplate(chat, "test.jinja")};
    options.path = folder_.write("chats.jsonl", lines);
    if (options.most_tokens == 0) options.most_tokens = 1000;
    return {format, options};
  }
  std::string refusal(const std::string& lines, ChatSourceOptions options = {},
                      const std::string& chat = kSimple) const {
    try {
      open(lines, std::move(options), chat);
    } catch (const UserError& error) {
      return error.report();
    }
    return "";
  }
  std::string path() const { return (folder_.path() / "chats.jsonl").string(); }

  TemporaryFolder folder_;
};

std::string text_of(const ChatSource& source) {
  std::vector<int32_t> tokens(static_cast<size_t>(source.num_tokens()));
  source.read(0, tokens, {});
  return {tokens.begin(), tokens.end()};
}

TEST_F(ChatSourceTest, HasThePositionsDocumentsAndLabelsThatAPersonWouldWrite) {
  const BestFitSource packed(
      std::make_unique<ChatSource>(open(line_of("a", "bc") + line_of("d", "e"))), 24);
  const Shown window = shown(packed, 24, 0);
  EXPECT_EQ(window.tokens, std::string("<u>a;<a>bc;<u>d;<a>e;\0\0\0", 24));
  EXPECT_EQ(window.labels, ".......bc;........e;....");
  EXPECT_EQ(window.positions, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0,
                                                    1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0,  0}));
  EXPECT_EQ(window.document, (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4}));
}

TEST_F(ChatSourceTest, LearnsTheTurnsOfOtherRolesWhereItIsAskedTo) {
  const BestFitSource packed(
      std::make_unique<ChatSource>(open(line_of("a", "bc"), {.roles = {"user", "assistant"}})), 12);
  EXPECT_EQ(shown(packed, 12, 0).labels, "u>a;...bc;..");
}

TEST_F(ChatSourceTest, CutsWhatIsTooLongAndLeavesOutWhatHasNoLabelThen) {
  const ChatSource source =
      open(line_of("a", "bc") + line_of("abcdef", "x") + line_of("a", "b"), {.most_tokens = 10});
  EXPECT_EQ(text_of(source), "<u>a;<a>bc<u>a;<a>b;");
  EXPECT_EQ(source.cut(), 2);
  EXPECT_EQ(source.left_out(), 1);
  EXPECT_EQ(source.train().conversations, 2);
  EXPECT_EQ(source.train().tokens, 20);
  EXPECT_EQ(source.train().learned, 4);
}

// As a template that leaves out the thoughts of earlier answers does.
TEST_F(ChatSourceTest, CountsATextForEachAnswerThatLaterTurnsChange) {
  const char* const thinks =
      "{% for m in messages %}<{{ m.role[0] }}>{% if m.role == 'assistant' and loop.last %}(){% "
      "endif %}{{ m.content }};{% endfor %}{% if add_generation_prompt %}<a>{% endif %}";
  const char* const line =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
          {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})";
  std::string one_line = line;
  std::erase(one_line, '\n');
  const ChatSource source = open(one_line, {}, thinks);
  EXPECT_EQ(text_of(source), "<u>a;<a>()b;<u>a;<a>b;<u>c;<a>()d;");
  EXPECT_EQ(source.train().conversations, 1);
  EXPECT_EQ(source.train().texts, 2);
}

std::string many_lines(int count, int from = 0) {
  std::string lines;
  for (int i = from; i < from + count; ++i)
    lines += line_of(std::string(static_cast<size_t>(i * 7 % 13), 'q') + std::to_string(i),
                     std::string(static_cast<size_t>(i * 5 % 11 + 1), 'r'));
  return lines;
}

std::map<std::string, int> texts_in(const std::string& text) {
  std::map<std::string, int> all;
  for (size_t begin = text.find("<u>"); begin < text.size();) {
    const size_t end = std::min(text.find("<u>", begin + 1), text.size());
    ++all[text.substr(begin, end - begin)];
    begin = end;
  }
  return all;
}

TEST_F(ChatSourceTest, KeepsEveryConversationWholeInOneWindowAndUnseenByOthers) {
  constexpr int64_t kSeq = 64;
  auto source = std::make_unique<ChatSource>(open(many_lines(200)));
  const std::map<std::string, int> expected = texts_in(text_of(*source));
  ASSERT_EQ(expected.size(), 200u);
  const BestFitSource packed(std::move(source), kSeq);
  std::map<std::string, int> found;
  for (int64_t window = 0; window < packed.num_tokens() / kSeq; ++window) {
    const Shown sample = shown(packed, kSeq, window);
    for (size_t begin = 0; begin < kSeq;) {
      size_t end = begin;
      while (end < kSeq && sample.document[end] == sample.document[begin]) ++end;
      for (size_t i = begin; i < end; ++i)
        ASSERT_EQ(sample.positions[i], static_cast<int32_t>(i - begin));
      EXPECT_EQ(sample.labels[end - 1], '.');  // never the first token of the next
      if (sample.tokens[begin] != '\0') ++found[sample.tokens.substr(begin, end - begin)];
      begin = end;
    }
  }
  EXPECT_EQ(found, expected);
}

TEST_F(ChatSourceTest, ReadsTheSameInAnyPieces) {
  const ChatSource source = open(many_lines(20), {.held_out = 0.3});
  const auto all = static_cast<size_t>(source.num_tokens());
  std::vector<int32_t> tokens(all), part_tokens;
  std::vector<uint8_t> opens(all), learned(all), part_opens, part_learned;
  source.read(0, tokens, opens);
  source.read_learned(0, learned);
  for (size_t begin = 0; begin < all; begin += 3) {
    const size_t count = std::min<size_t>(all - begin, 1 + begin % 50);
    part_tokens.resize(count);
    part_opens.assign(count, 7);
    part_learned.assign(count, 7);
    source.read(static_cast<int64_t>(begin), part_tokens, part_opens);
    source.read_learned(static_cast<int64_t>(begin), part_learned);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(part_tokens[i], tokens[begin + i]);
      ASSERT_EQ(part_opens[i], opens[begin + i]);
      ASSERT_EQ(part_learned[i], learned[begin + i]);
    }
  }
}

TEST_F(ChatSourceTest, HoldsOutWholeConversationsByWhatTheySay) {
  const ChatSource source = open(many_lines(100), {.held_out = 0.2});
  const ChatSource turned = open(many_lines(50, 50) + many_lines(50), {.held_out = 0.2});
  ASSERT_TRUE(source.held_out_begin());
  const auto sides = [](const ChatSource& all) {
    const std::string text = text_of(all);
    const auto border = static_cast<size_t>(*all.held_out_begin());
    return std::pair(texts_in(text.substr(0, border)), texts_in(text.substr(border)));
  };
  EXPECT_EQ(sides(source), sides(turned));
  EXPECT_EQ(source.train().conversations + source.held_out().conversations, 100);
  EXPECT_NEAR(static_cast<double>(source.held_out().conversations), 20, 12);
  EXPECT_EQ(source.held_out().tokens, source.num_tokens() - *source.held_out_begin());
}

TEST_F(ChatSourceTest, HoldsOutAtLeastOneConversationAndNeverAll) {
  EXPECT_EQ(open(many_lines(5), {.held_out = 1e-9}).held_out().conversations, 1);
  EXPECT_EQ(open(many_lines(5), {.held_out = 1 - 1e-9}).train().conversations, 1);
  EXPECT_EQ(refusal(line_of("a", "b"), {.held_out = 0.1}),
            "error: " + path() +
                " holds one conversation: it cannot be trained on and held out\n"
                "   at: data.held_out\n help: set data.held_out=0, or name other data with "
                "data.held_out_path\n");
}

TEST_F(ChatSourceTest, LeavesOutCopiesWhereItIsAskedTo) {
  const std::string lines = line_of("a", "b") + line_of("c", "d") + line_of("a", "b");
  EXPECT_EQ(open(lines).train().texts, 3);
  const ChatSource once = open(lines, {.deduplicate = true});
  EXPECT_EQ(once.train().texts, 2);
  EXPECT_EQ(once.duplicates(), 1);
}

TEST_F(ChatSourceTest, IsTheSameForAnyNumberOfThreadsAndPacked) {
  const std::string lines = many_lines(3000);
  const ChatSource one = open(lines), three = open(lines, {.threads = 3});
  EXPECT_EQ(text_of(one), text_of(three));
  folder_.write("packed/a.jsonl.gz", gzip_of(many_lines(1000)));
  folder_.write("packed/b.jsonl.zst", zstd_of(many_lines(2000, 1000)));
  folder_.write("packed/README.md", "What they say.");
  const ChatFormat format{.tokenizer = {}, .chat = ChatTemplate(kSimple, "test.jinja")};
  const ChatSource packed(format,
                          {.path = (folder_.path() / "packed").string(), .most_tokens = 1000});
  EXPECT_EQ(text_of(one), text_of(packed));
}

TEST_F(ChatSourceTest, AsksWhatAHeldOutConversationAsks) {
  const ChatSource source = open(many_lines(30), {.held_out = 0.1});
  ASSERT_TRUE(source.prompt());
  const std::string text = source.prompt()->text;
  EXPECT_TRUE(text.starts_with("<u>") && text.ends_with(";<a>")) << text;
  EXPECT_NE(text_of(source).find(text, static_cast<size_t>(*source.held_out_begin())),
            std::string::npos);
  EXPECT_EQ(std::string(source.prompt()->tokens.begin(), source.prompt()->tokens.end()), text);
  EXPECT_EQ(source.prompt()->answer_end, ";");
}

TEST_F(ChatSourceTest, WritesTheSameDateWhateverTheDayIs) {
  const ChatSource source =
      open(line_of("a", "b"), {}, "{{ strftime_now('%A %d %b %Y') }}" + std::string(kSimple));
  EXPECT_EQ(text_of(source), "Friday 26 Jul 2024<u>a;<a>b;");
}

// <|im_end|> ends an answer; the line break after it does not belong to it.
TEST_F(ChatSourceTest, LearnsOfATokenizersOwnTurnsTheAnswerAndItsEnd) {
  DataConfig data;
  data.tokenizer = folder_.write(
      "tokenizer.json",
      made_tokenizer_json({.added = R"([{"id":900,"content":"<|im_start|>","special":true},
                                        {"id":901,"content":"<|im_end|>","special":true}])"}));
  const ChatFormat format = open_chat_format(data);
  const ChatSource source(
      format, {.path = folder_.write("chats.jsonl", line_of("a", "b")), .most_tokens = 100});
  std::vector<int32_t> tokens(static_cast<size_t>(source.num_tokens()));
  std::vector<uint8_t> learned(tokens.size());
  source.read(0, tokens, {});
  source.read_learned(0, learned);
  std::vector<int32_t> answer;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (learned[i] != 0) answer.push_back(tokens[i]);
  EXPECT_EQ(tokens.front(), 900);
  EXPECT_EQ(answer, (std::vector<int32_t>{made_id("b"), 901}));
  EXPECT_EQ(source.vocabulary_size(), 902);
}

TEST_F(ChatSourceTest, NamesFileAndLineOfWhatIsWrong) {
  const std::string good = line_of("a", "b");
  EXPECT_EQ(refusal(good + "\n{\"messages\": []}\n"),
            "error: the line has no messages\n   at: " + path() +
                ", line 3\n help: each line is {\"messages\": [{\"role\": \"user\", \"content\": "
                "\"...\"}, ...]}\n");
  const std::string fails =
      refusal(good + line_of("stop", "b"), {},
              "{% if messages[0].content == 'stop' %}{{ raise_exception('no') }}{% endif %}" +
                  std::string(kSimple));
  EXPECT_NE(fails.find("at: " + path() + ", line 2, line 1 of the chat template, test.jinja"),
            std::string::npos)
      << fails;
  EXPECT_EQ(
      refusal(good, {.roles = {"tool"}}),
      "error: no conversation of " + path() +
          " has a turn of tool\n   at: data.chat_roles\n help: its roles are assistant, user\n");
  EXPECT_EQ(
      refusal(good, {.most_tokens = 8}),
      "error: every conversation of " + path() +
          " is cut at 8 tokens, before what is learned\n   at: train.seq\n help: use a larger "
          "train.seq, or shorter conversations\n");
}

TEST_F(ChatSourceTest, KnowsFilesOfConversationsByTheirFirstLine) {
  EXPECT_TRUE(holds_conversations(folder_.write("a.jsonl", "\n" + line_of("a", "b"))));
  EXPECT_TRUE(holds_conversations(folder_.write("b.jsonl", R"({"conversations": []})")));
  EXPECT_FALSE(holds_conversations(folder_.write("c.jsonl", R"({"text": "a"})")));
  EXPECT_FALSE(holds_conversations(folder_.write("d.txt", line_of("a", "b"))));
  EXPECT_FALSE(holds_conversations("nowhere"));
}

}  // namespace
}  // namespace tessera
