// SPDX-License-Identifier: Apache-2.0
// Reads expressions of chat templates, with the precedence that Jinja gives its operators.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja_lexer.h"
#include "chat/jinja_syntax.h"

namespace tessera {

class JinjaExpressions {
 public:
  explicit JinjaExpressions(std::vector<JinjaToken> tokens) : tokens_(std::move(tokens)) {}

  const JinjaToken& token() const { return tokens_[at_]; }
  JinjaToken take() { return std::move(tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]); }
  bool is_operator(std::string_view text) const;
  bool is_name(std::string_view text) const;
  bool skip_operator(std::string_view text) { return is_operator(text) && skip(); }
  bool skip_name(std::string_view text) { return is_name(text) && skip(); }
  void expect_operator(std::string_view text);
  void expect_name(std::string_view text);
  std::string take_name();
  [[noreturn]] void refuse_token() const;

  // With `in_for`, an `if` after it is not part of it.
  JinjaExpression::Owner expression(bool in_for = false);
  JinjaExpression::Owner tuple_or_expression(bool in_for = false);  // a, b
  // The filters of {% filter %}, of a value that has no expression.
  JinjaExpression::Owner filters_of_nothing();

 private:
  using Kind = JinjaExpressionKind;
  using Owner = JinjaExpression::Owner;

  bool skip() {
    take();
    return true;
  }
  Owner node(Kind kind, std::string text = {}) const;
  Owner constant(JinjaValue value) const;
  void own(JinjaExpression& parent, Owner child);
  Owner binary(std::string text, Owner left, Owner right);

  Owner disjunction();
  Owner conjunction();
  Owner negation();
  Owner comparison();
  Owner sum();
  Owner concatenation();
  Owner product();
  Owner power();
  Owner unary(bool with_filters = true);
  Owner primary();
  Owner number(const JinjaToken& token) const;
  Owner parenthesis();
  Owner list();
  Owner dict();
  Owner postfix(Owner of);
  Owner attribute(Owner of);
  Owner item(Owner of);
  Owner filters(Owner of);
  Owner filter(Owner of);
  Owner test(Owner of);
  void arguments(JinjaExpression& call);

  std::vector<JinjaToken> tokens_;
  size_t at_ = 0;
  int nested_ = 0;
};

}  // namespace tessera
