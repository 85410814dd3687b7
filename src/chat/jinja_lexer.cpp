// SPDX-License-Identifier: Apache-2.0
#include "chat/jinja_lexer.h"

#include <algorithm>
#include <array>

#include "chat/python_text.h"
#include "core/error.h"
#include "core/utf8.h"

namespace tessera {
namespace {

// As Jinja reads a file: one kind of line break, and none at the very end.
std::string plain_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    const bool pair = source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n';
    if (pair) continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_name_begin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_number_character(char c) { return c >= '0' && c <= '9'; }

class TemplateLexer {
 public:
  explicit TemplateLexer(std::string text) : text_(std::move(text)) {}

  std::vector<JinjaToken> read() {
    while (at_ < text_.size()) data();
    add(JinjaTokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  bool next_is(std::string_view what) const { return rest().starts_with(what); }

  void add(JinjaTokenKind kind, std::string text) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
  }

  void advance(size_t bytes) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes),
                                         '\n'));
    at_ += bytes;
    line_starting_ = at_ > 0 && text_[at_ - 1] == '\n';
  }

  // Text up to the next tag, and that tag.
  void data() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = text_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= text_.size()) {
        add(JinjaTokenKind::Data, text_.substr(at_));
        return advance(text_.size() - at_);
      }
      const char next = text_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
    }
    const char kind = text_[tag + 1];
    const char sign = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
    std::string before = text_.substr(at_, tag - at_);
    if (sign == '-')
      before.resize(stripped_right(before).size());
    else if (sign != '+' && kind != '{')
      before.resize(without_indent(before));
    if (!before.empty()) add(JinjaTokenKind::Data, std::move(before));
    advance(tag - at_ + (sign == '-' || sign == '+' ? 3 : 2));
    if (kind == '#') return comment();
    if (kind == '%' && raw()) return;
    add(kind == '{' ? JinjaTokenKind::PrintBegin : JinjaTokenKind::TagBegin, "");
    code(kind == '{');
  }

  // Its size without the blanks before a tag that is the first of its line.
  size_t without_indent(const std::string& before) const {
    const size_t begin = before.rfind('\n') + 1;  // 0 where there is none
    if (begin == 0 && !starts_line()) return before.size();
    return stripped_right(std::string_view(before).substr(begin)).empty() ? begin : before.size();
  }
  bool starts_line() const { return at_ == 0 || line_starting_; }

  // What ends a tag; it takes the white space that its sign says.
  bool tag_end(std::string_view end, bool takes_line_break) {
    size_t bytes = 0;
    bool strips = false;
    if (next_is(end)) {
      bytes = end.size();
    } else if (rest().size() > end.size() && rest().substr(1).starts_with(end)) {
      strips = rest()[0] == '-';
      if (!strips && !(rest()[0] == '+' && takes_line_break)) return false;
      takes_line_break = false;
      bytes = end.size() + 1;
    } else {
      return false;
    }
    const std::string_view after = rest().substr(bytes);
    if (strips)
      bytes += after.size() - stripped_left(after).size();
    else if (takes_line_break && after.starts_with('\n'))
      ++bytes;
    advance(bytes);
    return true;
  }

  void comment() {
    const int line = line_;
    while (at_ < text_.size()) {
      if (tag_end("#}", true)) return;
      advance(1);
    }
    refuse_template(line, "a comment has no end");
  }

  // {% raw %} to {% endraw %}: text, whatever it looks like.
  bool raw() {
    std::string_view after = stripped_left(rest());
    if (!after.starts_with("raw")) return false;
    after = stripped_left(after.substr(3));
    if (!after.starts_with("%}") && !after.starts_with("-%}")) return false;
    refuse_template(line_, "{% raw %} is not supported");
  }

  void code(bool print) {
    const int line = line_;
    int open = 0;
    while (at_ < text_.size()) {
      if (open == 0 && tag_end(print ? "}}" : "%}", !print))
        return add(print ? JinjaTokenKind::PrintEnd : JinjaTokenKind::TagEnd, "");
      const char c = text_[at_];
      const std::string_view blanks = stripped_left(rest());
      if (blanks.size() != rest().size()) {
        advance(rest().size() - blanks.size());
      } else if (is_name_begin(c)) {
        name();
      } else if (is_number_character(c)) {
        number();
      } else if (c == '"' || c == '\'') {
        quoted(c);
      } else {
        open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
        operation();
      }
    }
    refuse_template(line, "a tag has no end");
  }

  void name() {
    size_t end = at_;
    while (end < text_.size() && (is_name_begin(text_[end]) || is_number_character(text_[end])))
      ++end;
    const size_t begin = at_;
    add(JinjaTokenKind::Name, text_.substr(begin, end - begin));
    advance(end - begin);
  }

  void number() {
    size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && (is_number_character(text_[end]) || text_[end] == '_')) ++end;
    };
    const auto has_digit = [&](size_t at) {
      return at < text_.size() && is_number_character(text_[at]);
    };
    digits();
    bool fraction = false;
    if (end < text_.size() && text_[end] == '.' && has_digit(end + 1)) {
      fraction = true;
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const size_t sign =
          end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
      if (has_digit(end + 1 + sign)) {
        fraction = true;
        end += 1 + sign;
        digits();
      }
    }
    if (end - at_ > 18) refuse_template(line_, "a number has more than 18 characters");
    std::string digits_alone = text_.substr(at_, end - at_);
    std::erase(digits_alone, '_');
    add(fraction ? JinjaTokenKind::Float : JinjaTokenKind::Integer, std::move(digits_alone));
    advance(end - at_);
  }

  void quoted(char quote) {
    const int line = line_;
    std::string text;
    size_t at = at_ + 1;
    while (at < text_.size() && text_[at] != quote) {
      if (text_[at] == '\\')
        escape(at, text);
      else
        text += text_[at++];
    }
    if (at >= text_.size()) refuse_template(line, "a quoted text has no end");
    add(JinjaTokenKind::Text, std::move(text));
    advance(at + 1 - at_);
  }

  // As Python reads them; an unknown one stays as it is.
  void escape(size_t& at, std::string& text) const {
    if (at + 1 >= text_.size()) refuse_template(line_, "a quoted text has no end");
    const char c = text_[at + 1];
    at += 2;
    constexpr std::string_view kLetters = "nrtabfv\\'\"", kCharacters = "\n\r\t\a\b\f\v\\'\"";
    if (const size_t found = kLetters.find(c); found != std::string::npos) {
      text += kCharacters[found];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      append_utf8(text, code_of(at, digits));
      at += digits;
    } else if (c == 'N' || (c >= '0' && c <= '7')) {
      refuse_template(line_, fmt::format("the escape \\{} is not supported", c));
    } else if (c != '\n') {
      text += '\\';
      text += c;
    }
  }

  uint32_t code_of(size_t at, size_t digits) const {
    uint32_t code = 0;
    for (size_t i = at; i < at + digits; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdef0123456789ABCDEF";
      const size_t digit = i < text_.size() ? kDigits.find(text_[i]) : std::string::npos;
      if (digit == std::string::npos || code > 0x10FFFF)
        refuse_template(line_, "an escape in a text is not complete");
      code = code * 16 + static_cast<uint32_t>(digit % 16);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      refuse_template(line_, "an escape in a text is no character");
    return code;
  }

  void operation() {
    constexpr std::array<std::string_view, 6> kTwo{"//", "**", "==", "!=", "<=", ">="};
    constexpr std::string_view kOne = "+-*/%~<>=()[]{}.,:|";
    for (const std::string_view two : kTwo)
      if (next_is(two)) {
        add(JinjaTokenKind::Operator, std::string(two));
        return advance(2);
      }
    if (kOne.find(text_[at_]) == std::string::npos)
      refuse_template(line_, fmt::format("the character {} has no meaning in a tag",
                                         python_quoted(rest().substr(0, 1))));
    add(JinjaTokenKind::Operator, text_.substr(at_, 1));
    advance(1);
  }

  std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<JinjaToken> tokens_;
};

}  // namespace

void refuse_template(int line, std::string message) {
  throw UserError(std::move(message))
      .at(fmt::format("line {} of the chat template", line))
      .help("see docs/chat.md for what chat templates may hold");
}

std::vector<JinjaToken> jinja_tokens(std::string_view source) {
  constexpr size_t kLongest = 256 << 10;
  if (source.size() > kLongest)
    throw user_error("the chat template has {} bytes, but at most {} are supported", source.size(),
                     kLongest)
        .help("give a shorter one");
  if (valid_prefix(source) != source.size())
    throw UserError("the chat template is not UTF-8").help("save it as UTF-8");
  return TemplateLexer(plain_lines(source)).read();
}

}  // namespace tessera
