// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a chat template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja_value.h"

namespace tessera {

enum class JinjaExpressionKind : uint8_t {
  Constant,
  Name,         // text
  Unary,        // text: not, -, +
  Binary,       // text: + - * / // % ** ~ and or
  Compare,      // texts of operators; children one more than those
  Conditional,  // value, condition, and what else, if given
  Member,       // child, text
  Item,         // child, index
  Slice,        // child, begin, end, step; null where left out
  Call,         // child, arguments
  Filter,       // child, text, arguments
  Test,         // child, text, arguments; `negated` is a text of its own
  List,
  Tuple,
  Dict,  // key, value, key, value
};

struct JinjaExpression {
  using Owner = std::unique_ptr<JinjaExpression>;

  JinjaExpressionKind kind = JinjaExpressionKind::Constant;
  int line = 0;
  int height = 1;  // of the tree below it
  bool negated = false;
  std::string text;
  std::vector<std::string> operators;  // of Compare
  JinjaValue constant;
  std::vector<Owner> children;
  std::vector<std::pair<std::string, Owner>> named;  // arguments by name
};

enum class JinjaStatementKind : uint8_t {
  Text,
  Print,
  If,        // expressions and as many bodies; `otherwise`
  For,       // names, expressions: items and, if given, a condition; bodies; `otherwise`
  Set,       // names; or text and name of an attribute of a namespace
  SetBlock,  // names; bodies
  With,      // names and expressions; bodies
  Macro,
  FilterBlock,  // expressions: a filter of nothing; bodies
  Generation,   // what the model writes: transformers' own tag
  Break,
  Continue,
};

struct JinjaStatement;
using JinjaBody = std::vector<JinjaStatement>;

struct JinjaMacro {
  struct Parameter {
    std::string name;
    JinjaExpression::Owner value;  // where none is given; may be null
  };
  std::string name;
  std::vector<Parameter> parameters;
  JinjaBody body;
};

struct JinjaStatement {
  JinjaStatementKind kind = JinjaStatementKind::Text;
  int line = 0;
  std::string text;  // of Text; the attribute of Set
  std::vector<std::string> names;
  std::vector<JinjaExpression::Owner> expressions;
  std::vector<JinjaBody> bodies;
  JinjaBody otherwise;
  std::unique_ptr<JinjaMacro> macro;
};

}  // namespace tessera
