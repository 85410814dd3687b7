// SPDX-License-Identifier: Apache-2.0
// The IR as text; ir/parser.h reads it back to the same module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace tessera {

std::string print(const Module& module);

// The same by line, and what each line is about.
struct PrintedLine {
  enum class Kind : uint8_t { Heading, Input, Bundle, Node, Output, Block };
  Kind kind = Kind::Heading;
  std::string text = {};             // without its end of line
  int class_index = kNone;           // of the class that it is in
  std::vector<ValueId> values = {};  // that it defines or, an output, returns
};
std::vector<PrintedLine> print_lines(const Module& module);
std::string_view name(PrintedLine::Kind kind);

std::string print(const BlockClass& block_class, const Mesh& mesh = {});

}  // namespace tessera
