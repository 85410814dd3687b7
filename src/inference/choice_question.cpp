// SPDX-License-Identifier: Apache-2.0
#include "inference/choice_question.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/utf8.h"
#include "files/text_file.h"
#include "files/text_reader.h"

namespace tessera {
namespace {

constexpr int kQuestionDepth = 64;
constexpr const char* kForms =
    R"(write {"context": "2 + 3 =", "choices": [" 5", " 6"], "answer": 0} on each line, or give )"
    "the samples_*.jsonl of lm-evaluation-harness";

// Reads one line.
class QuestionReader {
 public:
  QuestionReader(const Json& json, ChoiceQuestion& question) : json_(json), question_(question) {}

  void read() {
    if (json_.find("arguments"))
      read_arguments();
    else
      read_choices();
    read_answers();
    for (size_t i = 0; i < question_.choices.size(); ++i)
      if (question_.choices[i].continuation.empty()) refuse("choice {} is empty", i + 1);
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw user_error("{}", fmt::format(format, std::forward<Args>(args)...))
        .at(question_.place)
        .help(kForms);
  }

  const std::string& text_of(const Json& json, std::string_view what) const {
    if (!json.text()) refuse("{} is not a text: {}", what, shortened(json));
    return *json.text();
  }

  static std::string shortened(const Json& json) {
    constexpr size_t kMost = 60;
    std::string text = json.dump();
    if (text.size() <= kMost) return text;
    const std::string_view begin = std::string_view(text).substr(0, kMost);
    return std::string(begin.substr(0, valid_prefix(begin))) + "...";  // whole characters
  }

  // What was asked of a model, word for word: {"gen_args_0": {"arg_0": context, "arg_1":
  // continuation}, ...}, or in older files a list of pairs.
  void read_arguments() {
    const Json& arguments = *json_.find("arguments");
    const size_t count =
        arguments.is_object() ? arguments.members().size() : arguments.items().size();
    for (size_t i = 0; i < count; ++i) {
      const Json& pair =
          arguments.is_object() ? arguments.members()[i].value : arguments.items()[i];
      const auto [context, continuation] = pair_of(pair, i);
      question_.choices.push_back({.context = text_of(*context, "a context"),
                                   .continuation = text_of(*continuation, "a continuation"),
                                   .text = {}});
    }
    leave_out_unconditional();
    if (count < 2) refuse("a question has two choices or more, and this line has {}", count);
    const auto same = [&](const Choice& choice) {
      return choice.continuation == question_.choices.front().continuation;
    };
    if (std::ranges::all_of(question_.choices, same))
      refuse(
          "the choices differ in their contexts alone; the harness does not store which is right");
    const bool spaced = std::ranges::all_of(question_.choices, [](const Choice& choice) {
      return choice.continuation.starts_with(' ');
    });
    // The harness puts its delimiter, a space by default, between context and choice.
    for (Choice& choice : question_.choices)
      choice.text = choice.continuation.substr(spaced ? 1 : 0);
    read_stored();
    if (const Json* doc = json_.find("doc")) question_.doc = *doc;
  }

  // For acc_mutual_info, every choice is asked once more, without a context.
  void leave_out_unconditional() {
    std::vector<Choice>& choices = question_.choices;
    const size_t half = choices.size() / 2;
    if (choices.size() % 2 != 0 || half < 2) return;
    for (size_t i = 0; i < half; ++i)
      if (choices[i].context.empty() || !choices[half + i].context.empty() ||
          choices[i].continuation != choices[half + i].continuation)
        return;
    choices.resize(half);
  }

  std::pair<const Json*, const Json*> pair_of(const Json& pair, size_t i) const {
    const Json* context = pair.find("arg_0");
    const Json* continuation = pair.find("arg_1");
    if (pair.items().size() >= 2) {
      context = &pair.items()[0];
      continuation = &pair.items()[1];
    }
    if (!context || !continuation || continuation->is_object())
      refuse("argument {} is not a context and a continuation: {}", i + 1, shortened(pair));
    return {context, continuation};
  }

  // [["-3.25", "False"], ...]: in newer files the numbers are texts. "resps" has one more level.
  void read_stored() {
    const Json* all = json_.find("filtered_resps");
    if (!all || all->items().size() < question_.choices.size()) return;
    for (size_t i = 0; i < question_.choices.size(); ++i) {
      const std::span<const Json> each = all->items()[i].items();
      if (each.size() < 2) return;
      const std::optional<double> log = number_of(each[0]);
      if (!log) return;
      question_.choices[i].stored = {
          .log = *log,
          .greedy = each[1].text() ? *each[1].text() == "True" : each[1].flag().value_or(false)};
    }
  }

  static std::optional<double> number_of(const Json& json) {
    if (!json.text()) return json.number();
    double number = 0;
    const char* end = json.text()->data() + json.text()->size();
    const auto read = std::from_chars(json.text()->data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
  }

  // Choices are a list, or as ARC has them {"text": [...], "label": [...]}.
  void read_choices() {
    const Json* choices = json_.find("choices");
    if (choices && choices->is_object()) {
      if (const Json* labels = choices->find("label"))
        for (const Json& label : labels->items()) labels_.push_back(text_of(label, "a label"));
      choices = choices->find("text");
    }
    const size_t count = choices ? choices->items().size() : 0;
    if (!choices) refuse("there are no choices");
    if (count < 2) refuse("a question has two choices or more, and this line has {}", count);
    if (!labels_.empty() && labels_.size() != count)
      refuse("there are {} choices and {} labels", count, labels_.size());
    const Json* context = json_.find("context");
    const Json* question = json_.find("question");
    if (!context == !question)
      refuse("there {} a context {} a question", context ? "is both" : "is neither",
             context ? "and" : "nor");
    // A question is asked as lm-evaluation-harness asks those of ARC.
    const std::string asked =
        context ? text_of(*context, "the context")
                : fmt::format("Question: {}\nAnswer:", text_of(*question, "the question"));
    for (const Json& choice : choices->items()) {
      const std::string& text = text_of(choice, "a choice");
      question_.choices.push_back({.context = asked,
                                   .continuation = text.empty() || context ? text : " " + text,
                                   .text = text});
    }
    question_.doc = json_;
  }

  void read_answers() {
    for (const char* name : {"target", "answer", "answerKey"})
      if (const Json* answer = json_.find(name)) return read_answer(*answer);
    refuse("there is no answer");
  }

  void read_answer(const Json& answer) {
    if (answer.is_array()) {
      for (const Json& each : answer.items()) question_.answers.push_back(index_of(each));
    } else if (Json list; answer.text() && answer.text()->starts_with('[') &&
                          parse_json(*answer.text(), 2, list).empty()) {
      // The harness writes several right ones as "[0, 2]".
      for (const Json& each : list.items()) question_.answers.push_back(index_of(each));
    } else {
      question_.answers.push_back(index_of(answer));
    }
    if (question_.answers.empty()) refuse("there is no answer");
  }

  // A number counts from 0. A text is that of a choice, else its label or letter, else a number;
  // of the harness, which writes numbers as texts, a number before all else.
  size_t index_of(const Json& answer) const {
    const size_t count = question_.choices.size();
    const std::optional<double> number = number_of(answer);
    const bool whole = number && *number == std::floor(*number);
    if (answer.text() && !(whole && json_.find("arguments")))
      if (const std::optional<size_t> found = index_of_text(*answer.text())) return *found;
    if (!whole)
      refuse("the answer {} is none of the {} choices, nor a letter or a number of one",
             shortened(answer), count);
    if (*number < 0 || *number >= static_cast<double>(count))
      refuse("the answer is {:.0f}, but the {} choices are numbered from 0 to {}", *number, count,
             count - 1);
    return static_cast<size_t>(*number);
  }

  std::optional<size_t> index_of_text(std::string_view text) const {
    const auto is = [&](size_t i) { return without_spaces(question_.choices[i].text) == text; };
    const size_t count = question_.choices.size();
    for (size_t i = 0; i < count; ++i)
      if (question_.choices[i].text == text || is(i)) return i;
    for (size_t i = 0; i < count; ++i)
      if (label_of(i) == text) return i;
    return std::nullopt;
  }

  static std::string_view without_spaces(std::string_view text) {
    const size_t begin = text.find_first_not_of(' ');
    return begin == std::string_view::npos ? text : text.substr(begin);
  }

  std::string label_of(size_t i) const {
    constexpr size_t kLetters = 26;
    if (!labels_.empty()) return labels_[i];
    return i < kLetters ? std::string(1, static_cast<char>('A' + i)) : "";
  }

  const Json& json_;
  ChoiceQuestion& question_;
  std::vector<std::string> labels_;
};

}  // namespace

ChoiceQuestion parse_choice_question(std::string_view line, const std::string& place) {
  ChoiceQuestion question{.choices = {}, .answers = {}, .doc = {}, .place = place};
  Json json;
  std::string wrong = parse_json(line, kQuestionDepth, json);
  if (wrong.empty() && !json.is_object()) wrong = "is not an object";
  if (!wrong.empty()) throw user_error("the line {}", wrong).at(place).help(kForms);
  QuestionReader(json, question).read();
  return question;
}

std::vector<ChoiceQuestion> read_choice_questions(const std::filesystem::path& path, int64_t most) {
  if (!is_jsonl(path))
    throw user_error("{} is not a .jsonl file: --choices reads a question from each line",
                     path.string())
        .help(kForms);
  std::vector<ChoiceQuestion> questions;
  TextReader reader(path);
  while (const std::optional<std::string_view> line = reader.line()) {
    if (is_blank(*line)) continue;
    if (most > 0 && std::ssize(questions) == most) break;
    questions.push_back(parse_choice_question(
        *line, fmt::format("{}, line {}", path.string(), reader.line_number())));
  }
  if (questions.empty()) throw user_error("{} has no question", path.string()).help(kForms);
  return questions;
}

}  // namespace tessera
