// SPDX-License-Identifier: Apache-2.0
// tessera chat: a conversation with a stored model, in a terminal or from a pipe.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/chat_conversation.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/writer_words.h"
#include "core/error.h"
#include "core/utf8_stream.h"
#include "files/storage_error.h"
#include "models/presets.h"
#include "record/progress.h"
#include "system/say.h"
#include "system/terminal_interrupt.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "In a terminal a line is a question; /help lists the commands, Ctrl-C stops an answer, Ctrl-D\n"
    "ends the chat. From a pipe, answers alone are on standard output.\n"
    "Examples:\n"
    "  tessera chat out\n"
    "  tessera chat Qwen3-0.6B --system \"Answer in one sentence.\" --temperature 0.7 --top-p 0.9\n"
    "  tessera chat adapter --base Qwen3-0.6B --mesh tp=2\n"
    "  printf 'Who are you?\\nWhy?\\n' | tessera chat out --temperature 0 --json";

struct ChatCommand {
  WriterWords words;
  std::string system, chat_template;
  int64_t most_tokens = AnswerOptions{}.tokens, window = 0;
  bool json = false;
};

// Lines of standard input; in a terminal, Ctrl-C may interrupt them.
class InputLines {
 public:
  enum class Got : uint8_t { Line, End, Interrupt };

  explicit InputLines(TerminalInterrupt* interrupt) : interrupt_(interrupt) {}

  // Without the characters that end it; as UTF-8.
  Got next(std::string& line) {
    for (;;) {
      if (const size_t end = read_.find('\n'); end != std::string::npos) return take(end, line);
      if (interrupt_ != nullptr && !interrupt_->wait_for(STDIN_FILENO)) {
        read_.clear();
        return Got::Interrupt;
      }
      char bytes[4096];
      const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (count < 0) throw user_error("cannot read the questions: {}", errno_text(errno));
      if (count == 0) return read_.empty() ? Got::End : take(read_.size(), line);
      read_.append(bytes, static_cast<size_t>(count));
      if (read_.size() > kLongest)
        throw user_error("a line has more than {} bytes", kLongest)
            .help("each line is one question of a conversation");
    }
  }

 private:
  static constexpr size_t kLongest = 1 << 20;

  Got take(size_t end, std::string& line) {
    Utf8Stream characters;
    line = characters.add(std::string_view(read_).substr(0, end));
    line += characters.rest();
    if (line.ends_with('\r')) line.pop_back();
    read_.erase(0, end + 1);
    return Got::Line;
  }

  TerminalInterrupt* interrupt_;
  std::string read_;
};

class Chat {
 public:
  explicit Chat(const ChatCommand& command)
      : command_(command),
        model_({.writer = command.words.options(),
                .chat_template = command.chat_template,
                .window = command.window}),
        conversation_(command.system),
        in_terminal_(!command.json && ::isatty(STDIN_FILENO) == 1 && is_terminal(stdout)) {
    if (const std::string note = model_.note(); !note.empty()) say(stderr, "note: {}\n", note);
    if (!in_terminal_) return;
    interrupt_.emplace();
    say(stderr,
        "{}, step {}, with a window of {} tokens and the template {}\n"
        "/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends the chat\n",
        preset_of(model_.writer().model()), model_.writer().stored().facts().position.step,
        model_.window(), model_.chat_template().origin());
  }

  void run() {
    InputLines lines(interrupt_ ? &*interrupt_ : nullptr);
    std::string line;
    while (!conversation_.has_ended()) {
      if (in_terminal_) put("\n> ");
      switch (lines.next(line)) {
        case InputLines::Got::End:
          if (in_terminal_) put("\n");
          return;
        case InputLines::Got::Interrupt:
          say(stderr, "\n(Ctrl-D or /quit ends the chat)");
          break;
        case InputLines::Got::Line:
          if (line.find_first_not_of(" \t") != std::string::npos) take(line);
      }
    }
  }

 private:
  // In a terminal a mistake does not end the chat.
  void take(const std::string& line) {
    try {
      if (!ChatConversation::is_command(line)) return answer(line);
      if (const std::string told = conversation_.run(line); !told.empty())
        say(stderr, "{}\n", told);
    } catch (const UserError& error) {
      if (!in_terminal_) throw;
      say(stderr, "{}", error.report());
    }
  }

  void answer(const std::string& line) {
    conversation_.ask(line);
    const AnswerOptions options{.tokens = command_.most_tokens,
                                .choice = command_.words.choice,
                                .seed = command_.words.seed};
    ChatAnswer answer;
    try {
      const auto show = [&](std::string_view text) {
        if (!command_.json) put(in_terminal_ ? printable(text) : std::string(text));
      };
      answer =
          model_.session().answer(conversation_.messages(), options, [&](std::string_view text) {
            show(text);
            return !interrupt_ || !interrupt_->take();
          });
      show(answer.rest);
    } catch (...) {
      conversation_.take_back();
      throw;
    }
    conversation_.answer(answer.text);
    ++turn_;
    if (command_.json)
      print(line, answer);
    else
      put("\n");
    tell_end(answer);
    left_out_ = answer.left_out;
  }

  void print(const std::string& question, const ChatAnswer& answer) const {
    print_json({{"turn", turn_},
                {"question", question},
                {"text", answer.text},
                {"tokens", answer.tokens},
                {"end", name(answer.end)},
                {"prompt_tokens", answer.prompt_tokens},
                {"computed_tokens", answer.computed_tokens},
                {"left_out", answer.left_out},
                {"first_seconds", answer.first_seconds},
                {"seconds", answer.seconds}});
    std::fflush(stdout);
  }

  // What the answer itself does not show.
  void tell_end(const ChatAnswer& answer) const {
    if (command_.json) return;
    if (answer.left_out > left_out_)
      say(stderr,
          "note: the conversation is longer than the window of {} tokens: its first {} messages "
          "are left out\n",
          model_.window(), answer.left_out);
    if (answer.end == AnswerEnd::MostTokens)
      say(stderr, "note: the answer was cut off after {} tokens (--max-tokens)\n",
          answer.tokens.size());
    if (answer.end == AnswerEnd::WindowFull)
      say(stderr, "note: the answer was cut off where the window of {} tokens is full (--window)\n",
          model_.window());
    if (answer.end == AnswerEnd::Stopped) say(stderr, "(stopped)\n");
  }

  static void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  const ChatCommand& command_;
  StoredChat model_;
  ChatConversation conversation_;
  bool in_terminal_;
  std::optional<TerminalInterrupt> interrupt_;
  int64_t turn_ = 0, left_out_ = 0;
};

}  // namespace

void add_chat_command(Command app) {
  auto command = std::make_shared<ChatCommand>();
  const Command chat = app.add_subcommand("chat", "talk with a trained model");
  chat.footer(kFooter);
  add_writer_words(chat, command->words);
  chat.add_option("--system", command->system, "what the system says before the conversation");
  chat.add_option("--max-tokens", command->most_tokens, "tokens of an answer, at most")
      .range(int64_t{1}, int64_t{1} << 20);
  chat.add_option("--window", command->window,
                  "tokens of the conversation that the model sees; 0: as in training, at most 8192")
      .range(int64_t{0}, int64_t{1} << 24);
  chat.add_option("--template", command->chat_template,
                  "plain, marked or a file of Jinja; default: the one next to the model")
      .type_name("FILE");
  add_json_flag(chat, command->json);
  chat.on_run([command] { Chat(*command).run(); });
}

}  // namespace tessera
