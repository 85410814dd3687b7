// SPDX-License-Identifier: Apache-2.0
#include "data/chat_source.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/error.h"
#include "data/document_choice.h"
#include "files/folder.h"
#include "files/text_file.h"
#include "files/text_reader.h"
#include "system/threads.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLinesAtOnce = 1024, kBytesAtOnce = 4 << 20;  // that threads share

// Templates that write the date (Llama 3's) write this one, which is theirs where there is no
// clock: samples must not depend on when a run starts.
std::tm date_of_samples() {
  std::tm date{};
  date.tm_year = 2024 - 1900;
  date.tm_mon = 6;
  date.tm_mday = 26;
  date.tm_wday = 5;
  date.tm_yday = 207;
  return date;
}

std::vector<fs::path> chat_files(const std::string& path) {
  std::vector<fs::path> files = files_named(path);
  std::error_code ignored;
  // A folder may hold a README.
  if (fs::is_directory(path, ignored))
    std::erase_if(files, [](const fs::path& file) { return !is_jsonl(file); });
  for (const fs::path& file : files)
    if (!is_jsonl(file))
      throw user_error("{} is no file of lines (*.jsonl)", file.string())
          .at("data.path")
          .help("write one conversation a line: jq -c '.[]' chats.json > chats.jsonl");
  if (files.empty())
    throw user_error("there is no file of lines (*.jsonl) at {}", path)
        .at("data.path")
        .help("give a .jsonl file, a folder of them or a glob");
  return files;
}

bool is_conversation(std::string_view line) {
  constexpr int kDepth = 64;
  Json json;
  if (!parse_json(line, kDepth, json).empty()) return false;
  const Json* messages = json.find("messages");
  if (!messages) messages = json.find("conversations");
  return messages && messages->is_array();
}

// The messages before its first answer to somebody; empty: there is none.
std::span<const Json> first_question(const Conversation& conversation) {
  const std::span<const Json> messages = conversation.messages.items();
  for (size_t i = 1; i < messages.size(); ++i)
    if (role_of(messages[i]) == "assistant" && role_of(messages[i - 1]) == "user")
      return messages.first(i);
  return {};
}

}  // namespace

bool holds_conversations(const std::string& path) {
  for (const fs::path& file : files_named(path)) {
    if (!is_jsonl(file)) continue;
    TextReader reader(file);
    while (const auto line = reader.line())
      if (!is_blank(*line)) return is_conversation(*line);
  }
  return false;
}

// Reads the files line by line; threads encode, and their texts are put together in the order of
// the lines.
class ChatSource::Reading {
 public:
  Reading(ChatSource& source, const ChatFormat& format, const ChatSourceOptions& options)
      : source_(source), options_(options), split_(options.seed, options.held_out) {
    for (int i = 0; i < std::max(options.threads, 1); ++i)
      encoders_.push_back(
          std::make_unique<ChatEncoder>(format.chat, format.tokens(), date_of_samples()));
  }

  void run() {
    const std::vector<fs::path> files = chat_files(options_.path);
    int64_t all = 0, done = 0;
    std::error_code ignored;
    for (const fs::path& file : files) all += static_cast<int64_t>(fs::file_size(file, ignored));
    for (const fs::path& file : files) {
      TextReader reader(file);
      while (const auto line = reader.line()) {
        if (is_blank(*line)) continue;
        add_line(*line, fmt::format("{}, line {}", file.string(), reader.line_number()));
        if (options_.progress) options_.progress(done + reader.file_position(), all);
      }
      done += reader.file_bytes();
    }
    encode_lines();
    if (source_.texts_.empty()) refuse();
    if (question_) source_.prompt_ = prompt_of(*question_);
  }

 private:
  struct Line {
    std::string text, place;
    Conversation conversation = {};
    uint64_t digest = 0;
    std::vector<ChatTokens> texts = {};
    std::exception_ptr error = {};
  };

  void add_line(std::string_view text, std::string place) {
    lines_.push_back({.text = std::string(text), .place = std::move(place)});
    bytes_ += text.size();
    if (lines_.size() == kLinesAtOnce || bytes_ >= kBytesAtOnce) encode_lines();
  }

  void encode(Line& line, ChatEncoder& encoder) const {
    try {
      line.conversation = read_conversation(line.text, line.place);
      std::string all = line.conversation.messages.dump();
      for (const JsonMember& variable : line.conversation.variables) all += variable.value.dump();
      line.digest = document_digest(all);
      line.texts = encoder.encode(line.conversation, options_.roles);
    } catch (const UserError& error) {
      const bool of_line = error.place().empty() || error.place() == line.place;
      line.error =
          std::make_exception_ptr(UserError(error.message())
                                      .at(of_line ? line.place : line.place + ", " + error.place())
                                      .help(error.advice()));
    }
  }

  void encode_lines() {
    run_parts(lines_.size(), static_cast<int>(encoders_.size()),
              [&](size_t line, size_t thread) { encode(lines_[line], *encoders_[thread]); });
    // The first line that is wrong is named, whichever thread had it.
    for (const Line& line : lines_) {
      if (line.error) std::rethrow_exception(line.error);
      add_texts(line);
    }
    lines_.clear();
    bytes_ = 0;
  }

  void add_texts(const Line& line) {
    if (options_.deduplicate && !seen_.insert(line.digest).second) {
      ++source_.duplicates_;
      return;
    }
    for (const Json& message : line.conversation.messages.items())
      if (roles_.size() < 20) roles_.insert(role_of(message));
    for (const ChatTokens& text : line.texts) add_text(text, line.digest);
    const double draw = split_.draw(line.digest);
    if (draw >= lowest_draw_ || first_question(line.conversation).empty()) return;
    lowest_draw_ = draw;
    question_ = line.conversation;
  }

  void add_text(const ChatTokens& text, uint64_t digest) {
    const size_t length = std::min(text.tokens.size(), static_cast<size_t>(options_.most_tokens));
    if (length < text.tokens.size()) ++source_.cut_;
    // The first token of a text has none before it that could predict it.
    int64_t learned = 0;
    for (size_t i = 1; i < length; ++i) learned += text.learned[i] ? 1 : 0;
    if (learned == 0) {
      ++source_.left_out_;
      if (std::ranges::count(text.learned, true) > 0) cuts_all_learned_ = true;
      return;
    }
    const auto end = static_cast<std::ptrdiff_t>(length);
    source_.texts_.push_back({.begin = source_.tokens_.size(),
                              .length = static_cast<int64_t>(length),
                              .learned = learned,
                              .conversation = digest});
    source_.tokens_.insert(source_.tokens_.end(), text.tokens.begin(), text.tokens.begin() + end);
    source_.learned_.insert(source_.learned_.end(), text.learned.begin(),
                            text.learned.begin() + end);
  }

  [[noreturn]] void refuse() const {
    if (roles_.empty())
      throw user_error("{} holds no conversation", options_.path)
          .at("data.path")
          .help(R"(each line is {"messages": [{"role": "user", "content": "..."}, ...]})");
    if (cuts_all_learned_)
      throw user_error("every conversation of {} is cut at {} tokens, before what is learned",
                       options_.path, options_.most_tokens)
          .at("train.seq")
          .help("use a larger train.seq, or shorter conversations");
    throw user_error("no conversation of {} has a turn of {}", options_.path,
                     fmt::join(options_.roles, " or "))
        .at("data.chat_roles")
        .help(fmt::format("its roles are {}", fmt::join(roles_, ", ")));
  }

  ChatPrompt prompt_of(const Conversation& conversation) {
    const std::span<const Json> messages = first_question(conversation);
    ChatEncoder& encoder = *encoders_.front();
    std::string text = encoder.prompt_text(Json::array({messages.begin(), messages.end()}),
                                           conversation.variables);
    std::vector<int32_t> tokens = encoder.tokens_of(text);
    return {.text = std::move(text),
            .tokens = std::move(tokens),
            .answer_end = encoder.answer_end_text()};
  }

  ChatSource& source_;
  const ChatSourceOptions& options_;
  DocumentSplit split_;
  std::vector<std::unique_ptr<ChatEncoder>> encoders_;  // of each thread
  std::vector<Line> lines_;
  size_t bytes_ = 0;  // of lines_
  std::set<uint64_t> seen_;
  std::set<std::string> roles_;    // some of those in the files
  bool cuts_all_learned_ = false;  // of a text that is left out
  double lowest_draw_ = 2;
  std::optional<Conversation> question_;  // the conversation with that draw
};

ChatSource::ChatSource(const ChatFormat& format, const ChatSourceOptions& options)
    : vocabulary_(format.vocabulary_size()) {
  Reading(*this, format, options).run();
  put_in_order(options);
}

void ChatSource::put_in_order(const ChatSourceOptions& options) {
  const DocumentSplit split(options.seed, options.held_out);
  const auto draw = [&](const Text& text) { return split.draw(text.conversation); };
  const auto [lowest, highest] = std::ranges::minmax(texts_, {}, draw);
  const double first = draw(lowest), last = draw(highest);
  if (options.held_out > 0 && first == last)
    throw user_error("{} holds one conversation: it cannot be trained on and held out",
                     options.path)
        .at("data.held_out")
        .help("set data.held_out=0, or name other data with data.held_out_path");
  const auto trains = [&](const Text& text) {
    const double drawn = draw(text);
    return options.held_out == 0 || drawn == last ||
           (drawn != first && !split.holds_out(text.conversation));
  };
  const auto border = std::stable_partition(texts_.begin(), texts_.end(), trains);
  std::set<uint64_t> seen;
  for (auto text = texts_.begin(); text != texts_.end(); ++text) {
    ChatCounts& counts = text < border ? train_ : held_out_;
    counts.conversations += seen.insert(text->conversation).second ? 1 : 0;
    ++counts.texts;
    counts.tokens += text->length;
    counts.learned += text->learned;
    begins_.push_back(begins_.back() + text->length);
  }
  if (options.held_out > 0) held_out_begin_ = train_.tokens;
}

template <typename F>
void ChatSource::for_each_stretch(int64_t begin, int64_t end, F f) const {
  TESSERA_CHECK(begin >= 0 && end <= num_tokens(), "tokens {} to {} of {}", begin, end,
                num_tokens());
  auto text = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) -
                                  begins_.begin() - 1);
  for (int64_t at = begin; at < end; ++text) {
    const int64_t stop = std::min(end, begins_[text + 1]), from = at - begins_[text];
    f(static_cast<size_t>(at - begin), texts_[text].begin + static_cast<size_t>(from),
      static_cast<size_t>(stop - at), from == 0);
    at = stop;
  }
}

void ChatSource::read(int64_t begin, std::span<int32_t> tokens,
                      std::span<uint8_t> opens_document) const {
  std::ranges::fill(opens_document, uint8_t{0});
  for_each_stretch(begin, begin + static_cast<int64_t>(tokens.size()),
                   [&](size_t at, size_t stored, size_t length, bool opens) {
                     std::ranges::copy(std::span(tokens_).subspan(stored, length),
                                       tokens.begin() + static_cast<std::ptrdiff_t>(at));
                     if (!opens_document.empty()) opens_document[at] = opens ? 1 : 0;
                   });
}

void ChatSource::read_learned(int64_t begin, std::span<uint8_t> learned) const {
  for_each_stretch(begin, begin + static_cast<int64_t>(learned.size()),
                   [&](size_t at, size_t stored, size_t length, bool /*opens*/) {
                     for (size_t i = 0; i < length; ++i)
                       learned[at + i] = learned_[stored + i] ? 1 : 0;
                   });
}

}  // namespace tessera
