// SPDX-License-Identifier: Apache-2.0
// A chat template as tokens, with the white space that transformers' settings leave: a tag takes
// the line break after it and the blanks before it on its line (trim_blocks, lstrip_blocks).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class JinjaTokenKind : uint8_t {
  Data,
  PrintBegin,
  PrintEnd,
  TagBegin,
  TagEnd,
  Name,
  Text,
  Integer,
  Float,
  Operator,
  End,
};

struct JinjaToken {
  JinjaTokenKind kind = JinjaTokenKind::End;
  int line = 1;
  std::string text;  // of Text without quotes and escapes
};

// A UserError where the text is no template; ends with an End.
std::vector<JinjaToken> jinja_tokens(std::string_view source);

// With the line as its place.
[[noreturn]] void refuse_template(int line, std::string message);

}  // namespace tessera
