// SPDX-License-Identifier: Apache-2.0
// Splits one line of text IR into words and punctuation. Errors name the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace tessera {

class Lexer {
 public:
  Lexer(std::string_view line, int number) : line_(line), number_(number) {}

  bool at_end();
  bool peek(char symbol);  // is the next character `symbol`?
  bool accept(char symbol);
  void expect(char symbol);
  bool accept_word(std::string_view word);
  std::string word();        // letters, digits, '_', '.', '-', '+'
  std::string value_name();  // a word after '%'
  int64_t integer();
  double real();

  [[noreturn]] void fail(const std::string& reason) const;

 private:
  void skip_space();
  std::string_view line_;
  size_t position_ = 0;
  int number_;
};

}  // namespace tessera
