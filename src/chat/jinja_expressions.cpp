// SPDX-License-Identifier: Apache-2.0
#include "chat/jinja_expressions.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

// Of parentheses within each other, and of a tree: what is evaluated uses the stack.
constexpr int kMostNested = 40, kHighest = 160;

JinjaExpression::Owner owned_node(JinjaExpressionKind kind, int line, std::string text) {
  auto node = std::make_unique<JinjaExpression>();
  node->kind = kind;
  node->line = line;
  node->text = std::move(text);
  return node;
}

}  // namespace

bool JinjaExpressions::is_operator(std::string_view text) const {
  return token().kind == JinjaTokenKind::Operator && token().text == text;
}
bool JinjaExpressions::is_name(std::string_view text) const {
  return token().kind == JinjaTokenKind::Name && token().text == text;
}

void JinjaExpressions::refuse_token() const {
  const bool ends =
      token().kind == JinjaTokenKind::TagEnd || token().kind == JinjaTokenKind::PrintEnd;
  refuse_template(token().line,
                  ends ? "a tag ends too early"
                       : fmt::format("{} is not expected here", python_quoted(token().text)));
}

void JinjaExpressions::expect_operator(std::string_view text) {
  if (!skip_operator(text)) refuse_token();
}
void JinjaExpressions::expect_name(std::string_view text) {
  if (!skip_name(text)) refuse_token();
}
std::string JinjaExpressions::take_name() {
  if (token().kind != JinjaTokenKind::Name) refuse_token();
  return take().text;
}

JinjaExpression::Owner JinjaExpressions::node(Kind kind, std::string text) const {
  return owned_node(kind, token().line, std::move(text));
}

JinjaExpression::Owner JinjaExpressions::constant(JinjaValue value) const {
  Owner made = node(Kind::Constant);
  made->constant = std::move(value);
  return made;
}

void JinjaExpressions::own(JinjaExpression& parent, Owner child) {
  if (child) {
    parent.height = std::max(parent.height, child->height + 1);
    if (parent.height > kHighest)
      refuse_template(
          parent.line,
          fmt::format("an expression has more than {} operations after one another", kHighest));
  }
  parent.children.push_back(std::move(child));
}

JinjaExpression::Owner JinjaExpressions::binary(std::string text, Owner left, Owner right) {
  Owner made = node(Kind::Binary, std::move(text));
  own(*made, std::move(left));
  own(*made, std::move(right));
  return made;
}

JinjaExpression::Owner JinjaExpressions::expression(bool in_for) {
  if (++nested_ > kMostNested)
    refuse_template(token().line,
                    fmt::format("expressions are nested more than {} deep", kMostNested));
  Owner value = disjunction();
  while (!in_for && skip_name("if")) {
    Owner made = node(Kind::Conditional);
    own(*made, std::move(value));
    own(*made, disjunction());
    if (skip_name("else")) own(*made, expression());
    value = std::move(made);
  }
  --nested_;
  return value;
}

JinjaExpression::Owner JinjaExpressions::tuple_or_expression(bool in_for) {
  Owner first = expression(in_for);
  if (!is_operator(",")) return first;
  Owner made = node(Kind::Tuple);
  own(*made, std::move(first));
  while (skip_operator(",")) {
    if (token().kind == JinjaTokenKind::TagEnd || token().kind == JinjaTokenKind::PrintEnd ||
        is_operator(")"))
      break;
    own(*made, expression(in_for));
  }
  return made;
}

JinjaExpression::Owner JinjaExpressions::disjunction() {
  Owner left = conjunction();
  while (skip_name("or")) left = binary("or", std::move(left), conjunction());
  return left;
}

JinjaExpression::Owner JinjaExpressions::conjunction() {
  Owner left = negation();
  while (skip_name("and")) left = binary("and", std::move(left), negation());
  return left;
}

JinjaExpression::Owner JinjaExpressions::negation() {
  int times = 0;
  while (skip_name("not")) ++times;
  Owner value = comparison();
  for (; times > 0; --times) {
    Owner made = node(Kind::Unary, "not");
    own(*made, std::move(value));
    value = std::move(made);
  }
  return value;
}

JinjaExpression::Owner JinjaExpressions::comparison() {
  constexpr std::array<std::string_view, 6> kCompare{"==", "!=", "<", "<=", ">", ">="};
  Owner first = sum();
  Owner made;
  for (;;) {
    std::string text;
    for (const std::string_view compare : kCompare)
      if (text.empty() && skip_operator(compare)) text = compare;
    if (text.empty() && skip_name("in")) text = "in";
    if (text.empty() && is_name("not") && at_ + 1 < tokens_.size() &&
        tokens_[at_ + 1].kind == JinjaTokenKind::Name && tokens_[at_ + 1].text == "in") {
      take();
      take();
      text = "not in";
    }
    if (text.empty()) break;
    if (!made) {
      made = node(Kind::Compare);
      own(*made, std::move(first));
    }
    made->operators.push_back(text);
    own(*made, sum());
  }
  return made ? std::move(made) : std::move(first);
}

JinjaExpression::Owner JinjaExpressions::sum() {
  Owner left = concatenation();
  while (is_operator("+") || is_operator("-")) {
    std::string text = take().text;
    left = binary(std::move(text), std::move(left), concatenation());
  }
  return left;
}

JinjaExpression::Owner JinjaExpressions::concatenation() {
  Owner left = product();
  while (skip_operator("~")) left = binary("~", std::move(left), product());
  return left;
}

JinjaExpression::Owner JinjaExpressions::product() {
  Owner left = power();
  while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
    std::string text = take().text;
    left = binary(std::move(text), std::move(left), power());
  }
  return left;
}

JinjaExpression::Owner JinjaExpressions::power() {
  Owner left = unary();
  while (skip_operator("**")) left = binary("**", std::move(left), unary());
  return left;
}

JinjaExpression::Owner JinjaExpressions::unary(bool with_filters) {
  std::vector<std::string> signs;
  while (is_operator("-") || is_operator("+")) signs.push_back(take().text);
  Owner value = postfix(primary());
  for (; !signs.empty(); signs.pop_back()) {
    Owner made = node(Kind::Unary, signs.back());
    own(*made, std::move(value));
    value = std::move(made);
  }
  return with_filters ? filters(std::move(value)) : std::move(value);
}

JinjaExpression::Owner JinjaExpressions::number(const JinjaToken& token) const {
  if (token.kind == JinjaTokenKind::Integer)
    return constant(
        JinjaValue(static_cast<int64_t>(std::strtoll(token.text.c_str(), nullptr, 10))));
  return constant(JinjaValue(std::strtod(token.text.c_str(), nullptr)));
}

JinjaExpression::Owner JinjaExpressions::primary() {
  if (token().kind == JinjaTokenKind::Name) {
    Owner made = node(Kind::Name, take().text);
    const std::string& name = made->text;
    if (name == "true" || name == "True") return constant(JinjaValue(true));
    if (name == "false" || name == "False") return constant(JinjaValue(false));
    if (name == "none" || name == "None") return constant(JinjaValue::none());
    return made;
  }
  if (token().kind == JinjaTokenKind::Text) {
    std::string text;
    while (token().kind == JinjaTokenKind::Text) text += take().text;
    return constant(JinjaValue::text(std::move(text)));
  }
  if (token().kind == JinjaTokenKind::Integer || token().kind == JinjaTokenKind::Float)
    return number(take());
  if (is_operator("(")) return parenthesis();
  if (is_operator("[")) return list();
  if (is_operator("{")) return dict();
  refuse_token();
}

JinjaExpression::Owner JinjaExpressions::parenthesis() {
  expect_operator("(");
  if (skip_operator(")")) return node(Kind::Tuple);
  Owner value = tuple_or_expression();
  expect_operator(")");
  return value;
}

JinjaExpression::Owner JinjaExpressions::list() {
  expect_operator("[");
  Owner made = node(Kind::List);
  while (!skip_operator("]")) {
    if (!made->children.empty()) {
      expect_operator(",");
      if (skip_operator("]")) break;
    }
    own(*made, expression());
  }
  return made;
}

JinjaExpression::Owner JinjaExpressions::dict() {
  expect_operator("{");
  Owner made = node(Kind::Dict);
  while (!skip_operator("}")) {
    if (!made->children.empty()) {
      expect_operator(",");
      if (skip_operator("}")) break;
    }
    own(*made, expression());
    expect_operator(":");
    own(*made, expression());
  }
  return made;
}

JinjaExpression::Owner JinjaExpressions::postfix(Owner of) {
  for (;;) {
    if (skip_operator(".")) {
      of = attribute(std::move(of));
    } else if (is_operator("[")) {
      of = item(std::move(of));
    } else if (is_operator("(")) {
      Owner made = node(Kind::Call);
      own(*made, std::move(of));
      arguments(*made);
      of = std::move(made);
    } else {
      return of;
    }
  }
}

JinjaExpression::Owner JinjaExpressions::attribute(Owner of) {
  if (token().kind == JinjaTokenKind::Integer) {
    Owner made = node(Kind::Item);
    own(*made, std::move(of));
    own(*made, number(take()));
    return made;
  }
  Owner made = node(Kind::Member, take_name());
  own(*made, std::move(of));
  return made;
}

JinjaExpression::Owner JinjaExpressions::item(Owner of) {
  expect_operator("[");
  Owner made = node(Kind::Item);
  own(*made, std::move(of));
  Owner begin;
  if (!is_operator(":")) begin = expression();
  if (begin && skip_operator("]")) {
    own(*made, std::move(begin));
    return made;
  }
  made->kind = Kind::Slice;
  own(*made, std::move(begin));
  expect_operator(":");
  own(*made, is_operator(":") || is_operator("]") ? nullptr : expression());
  own(*made, skip_operator(":") && !is_operator("]") ? expression() : nullptr);
  expect_operator("]");
  return made;
}

void JinjaExpressions::arguments(JinjaExpression& call) {
  expect_operator("(");
  for (bool first = true; !skip_operator(")"); first = false) {
    if (!first) {
      expect_operator(",");
      if (skip_operator(")")) break;
    }
    const bool by_name = token().kind == JinjaTokenKind::Name && at_ + 1 < tokens_.size() &&
                         tokens_[at_ + 1].kind == JinjaTokenKind::Operator &&
                         tokens_[at_ + 1].text == "=";
    if (by_name) {
      std::string name = take().text;
      take();
      own(call, expression());
      call.named.emplace_back(std::move(name), std::move(call.children.back()));
      call.children.pop_back();
    } else if (call.named.empty()) {
      own(call, expression());
    } else {
      refuse_token();
    }
  }
}

JinjaExpression::Owner JinjaExpressions::filters(Owner of) {
  for (;;) {
    if (skip_operator("|")) {
      of = filter(std::move(of));
    } else if (skip_name("is")) {
      of = test(std::move(of));
    } else if (is_operator("(")) {
      Owner made = node(Kind::Call);
      own(*made, std::move(of));
      arguments(*made);
      of = std::move(made);
    } else {
      return of;
    }
  }
}

JinjaExpression::Owner JinjaExpressions::filter(Owner of) {
  Owner made = node(Kind::Filter, take_name());
  own(*made, std::move(of));
  if (is_operator("(")) arguments(*made);
  return made;
}

JinjaExpression::Owner JinjaExpressions::test(Owner of) {
  const bool negated = skip_name("not");
  Owner made = node(Kind::Test, take_name());
  made->negated = negated;
  own(*made, std::move(of));
  const JinjaTokenKind kind = token().kind;
  const bool value =
      kind == JinjaTokenKind::Text || kind == JinjaTokenKind::Integer ||
      kind == JinjaTokenKind::Float || is_operator("[") || is_operator("{") ||
      (kind == JinjaTokenKind::Name && !is_name("else") && !is_name("or") && !is_name("and") &&
       !is_name("if") && !is_name("in") && !is_name("not") && !is_name("is"));
  if (is_operator("("))
    arguments(*made);
  else if (value)
    own(*made, postfix(primary()));
  return made;
}

JinjaExpression::Owner JinjaExpressions::filters_of_nothing() {
  Owner value = filter(constant(JinjaValue()));
  while (skip_operator("|")) value = filter(std::move(value));
  return value;
}

}  // namespace tessera
