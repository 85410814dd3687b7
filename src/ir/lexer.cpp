// SPDX-License-Identifier: Apache-2.0
#include "ir/lexer.h"

#include <cctype>
#include <charconv>

namespace tessera {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
         c == '+';
}

}  // namespace

void Lexer::fail(const std::string& reason) const {
  throw user_error("{}", reason).at(fmt::format("IR line {}: {}", number_, line_));
}

void Lexer::skip_space() {
  while (position_ < line_.size() && (line_[position_] == ' ' || line_[position_] == '\t'))
    ++position_;
}

bool Lexer::at_end() {
  skip_space();
  return position_ >= line_.size();
}

bool Lexer::peek(char symbol) {
  skip_space();
  return position_ < line_.size() && line_[position_] == symbol;
}

bool Lexer::accept(char symbol) {
  if (!peek(symbol)) return false;
  ++position_;
  return true;
}

void Lexer::expect(char symbol) {
  if (!accept(symbol)) fail(fmt::format("expected '{}' at column {}", symbol, position_ + 1));
}

bool Lexer::accept_word(std::string_view wanted) {
  const size_t before = position_;
  skip_space();
  if (position_ < line_.size() && is_word(line_[position_]) && word() == wanted) return true;
  position_ = before;
  return false;
}

std::string Lexer::word() {
  skip_space();
  const size_t begin = position_;
  while (position_ < line_.size() && is_word(line_[position_])) ++position_;
  if (begin == position_) fail(fmt::format("expected a word at column {}", begin + 1));
  return std::string(line_.substr(begin, position_ - begin));
}

std::string Lexer::value_name() {
  expect('%');
  return word();
}

int64_t Lexer::integer() {
  const std::string text = word();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(fmt::format("{} is not a whole number", text));
  return value;
}

double Lexer::real() {
  const std::string text = word();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(fmt::format("{} is not a number", text));
  return value;
}

}  // namespace tessera
