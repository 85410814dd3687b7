// SPDX-License-Identifier: Apache-2.0
#include "chat/jinja_parser.h"

#include <algorithm>
#include <initializer_list>

#include "chat/jinja_expressions.h"
#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr int kMostTagsWithin = 24;

class TemplateParser {
 public:
  explicit TemplateParser(std::string_view source) : read_(jinja_tokens(source)) {}

  JinjaBody all() {
    JinjaBody body = body_until({});
    if (read_.token().kind != JinjaTokenKind::End)
      refuse_template(read_.token().line, fmt::format("{} ends nothing that was opened",
                                                      python_quoted(read_.token().text)));
    return body;
  }

 private:
  using Kind = JinjaStatementKind;

  JinjaStatement statement(Kind kind) const {
    JinjaStatement made;
    made.kind = kind;
    made.line = read_.token().line;
    return made;
  }

  // Up to a tag with one of these names, of which the name is the next token.
  JinjaBody body_until(std::initializer_list<std::string_view> ends) {
    if (++within_ > kMostTagsWithin)
      refuse_template(read_.token().line,
                      fmt::format("tags are nested more than {} deep", kMostTagsWithin));
    JinjaBody body;
    for (;;) {
      const JinjaTokenKind kind = read_.token().kind;
      if (kind == JinjaTokenKind::End) {
        if (ends.size() > 0)
          refuse_template(read_.token().line,
                          fmt::format("the template ends without {{% {} %}}", *(ends.end() - 1)));
        break;
      }
      if (kind == JinjaTokenKind::Data) {
        body.push_back(statement(Kind::Text));
        body.back().text = read_.take().text;
      } else if (kind == JinjaTokenKind::PrintBegin) {
        body.push_back(print());
      } else {
        read_.take();
        const std::string& name = read_.token().text;
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) break;
        if (name.starts_with("end") || name == "else" || name == "elif") {
          if (ends.size() == 0) break;
          read_.refuse_token();
        }
        body.push_back(tag());
      }
    }
    --within_;
    return body;
  }

  void end_tag() {
    if (read_.token().kind != JinjaTokenKind::TagEnd) read_.refuse_token();
    read_.take();
  }
  void end_block(std::string_view name) {
    read_.expect_name(name);
    if (read_.token().kind == JinjaTokenKind::Name) read_.take();  // endmacro may repeat the name
    end_tag();
  }

  JinjaStatement print() {
    JinjaStatement made = statement(Kind::Print);
    read_.take();
    made.expressions.push_back(read_.tuple_or_expression());
    if (read_.token().kind != JinjaTokenKind::PrintEnd) read_.refuse_token();
    read_.take();
    return made;
  }

  JinjaStatement tag() {
    const int line = read_.token().line;
    const std::string name = read_.take_name();
    if (name == "if") return condition();
    if (name == "for") return loop();
    if (name == "set") return set();
    if (name == "macro") return macro();
    if (name == "with") return with();
    if (name == "filter") return filter_block();
    if (name == "generation") return generation();
    if (name == "break" || name == "continue") {
      if (loops_ == 0) refuse_template(line, fmt::format("{} is not within a loop", name));
      JinjaStatement made = statement(name == "break" ? Kind::Break : Kind::Continue);
      end_tag();
      return made;
    }
    refuse_template(line, fmt::format("the tag {} is not supported", python_quoted(name)));
  }

  JinjaStatement condition() {
    JinjaStatement made = statement(Kind::If);
    for (;;) {
      made.expressions.push_back(read_.tuple_or_expression());
      end_tag();
      made.bodies.push_back(body_until({"elif", "else", "endif"}));
      if (!read_.skip_name("elif")) break;
    }
    if (read_.skip_name("else")) {
      end_tag();
      made.otherwise = body_until({"endif"});
    }
    end_block("endif");
    return made;
  }

  std::vector<std::string> targets() {
    std::vector<std::string> names;
    const bool parentheses = read_.skip_operator("(");
    do {
      if (!names.empty() && read_.is_operator(")")) break;
      names.push_back(read_.take_name());
    } while (read_.skip_operator(","));
    if (parentheses) read_.expect_operator(")");
    return names;
  }

  JinjaStatement loop() {
    JinjaStatement made = statement(Kind::For);
    made.names = targets();
    read_.expect_name("in");
    made.expressions.push_back(read_.tuple_or_expression(/*in_for=*/true));
    if (read_.skip_name("if")) made.expressions.push_back(read_.expression());
    if (read_.is_name("recursive")) refuse_template(made.line, "a recursive loop is not supported");
    end_tag();
    ++loops_;
    made.bodies.push_back(body_until({"else", "endfor"}));
    --loops_;
    if (read_.skip_name("else")) {
      end_tag();
      made.otherwise = body_until({"endfor"});
    }
    end_block("endfor");
    return made;
  }

  JinjaStatement set() {
    JinjaStatement made = statement(Kind::Set);
    made.names = targets();
    if (read_.skip_operator(".")) made.text = read_.take_name();
    if (read_.skip_operator("=")) {
      made.expressions.push_back(read_.tuple_or_expression());
      end_tag();
      return made;
    }
    if (made.names.size() > 1 || !made.text.empty()) read_.refuse_token();
    made.kind = Kind::SetBlock;
    if (read_.skip_operator("|")) made.expressions.push_back(read_.filters_of_nothing());
    end_tag();
    made.bodies.push_back(whole_body("endset"));
    return made;
  }

  // Of a tag that Jinja compiles into a function: a loop outside cannot be left from within.
  JinjaBody whole_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    JinjaBody body = body_until({end});
    loops_ = loops;
    end_block(end);
    return body;
  }

  JinjaStatement macro() {
    JinjaStatement made = statement(Kind::Macro);
    if (loops_ > 0 || in_macro_)
      refuse_template(made.line, "a macro within a loop or a macro is not supported");
    made.macro = std::make_unique<JinjaMacro>();
    made.macro->name = read_.take_name();
    read_.expect_operator("(");
    while (!read_.skip_operator(")")) {
      if (!made.macro->parameters.empty()) read_.expect_operator(",");
      auto& parameter = made.macro->parameters.emplace_back();
      parameter.name = read_.take_name();
      if (read_.skip_operator("=")) parameter.value = read_.expression();
    }
    end_tag();
    in_macro_ = true;
    made.macro->body = whole_body("endmacro");
    in_macro_ = false;
    return made;
  }

  JinjaStatement with() {
    JinjaStatement made = statement(Kind::With);
    while (read_.token().kind != JinjaTokenKind::TagEnd) {
      if (!made.names.empty()) read_.expect_operator(",");
      made.names.push_back(read_.take_name());
      read_.expect_operator("=");
      made.expressions.push_back(read_.expression());
    }
    end_tag();
    made.bodies.push_back(body_until({"endwith"}));
    end_block("endwith");
    return made;
  }

  JinjaStatement filter_block() {
    JinjaStatement made = statement(Kind::FilterBlock);
    made.expressions.push_back(read_.filters_of_nothing());
    end_tag();
    made.bodies.push_back(whole_body("endfilter"));
    return made;
  }

  JinjaStatement generation() {
    JinjaStatement made = statement(Kind::Generation);
    end_tag();
    made.bodies.push_back(whole_body("endgeneration"));
    return made;
  }

  JinjaExpressions read_;
  int within_ = 0, loops_ = 0;
  bool in_macro_ = false;
};

}  // namespace

JinjaBody parse_jinja(std::string_view source) { return TemplateParser(source).all(); }

}  // namespace tessera
