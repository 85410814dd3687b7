// SPDX-License-Identifier: Apache-2.0
#include "chat/jinja_evaluator.h"

#include <algorithm>
#include <array>

#include "chat/jinja_arguments.h"
#include "chat/jinja_lexer.h"
#include "chat/jinja_scopes.h"
#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr int kMostCalls = 12;  // of macros within each other

enum class Flow : uint8_t { Next, Break, Continue };

// Runs f, whose errors have no place, and gives them one.
template <typename F>
auto at_template_line(int line, F f) {
  try {
    return f();
  } catch (const UserError& error) {
    if (!error.place().empty()) throw;
    throw UserError(error.message())
        .at(fmt::format("line {} of the chat template", line))
        .help(error.advice());
  }
}

class TemplateRun {
 public:
  TemplateRun(std::vector<JinjaMember> variables, const std::tm& now, JinjaBudget& budget)
      : scopes_(std::move(variables)), now_(now), budget_(budget) {}

  JinjaOutput run(const JinjaBody& body) {
    run_body(body, output_.text);
    return std::move(output_);
  }

 private:
  void set(const std::string& name, JinjaValue value) {
    scopes_.set(name, std::move(value), budget_);
  }

  void assign(const std::vector<std::string>& names, const JinjaValue& value, int line) {
    if (names.size() == 1) return set(names.front(), value);
    const std::vector<JinjaValue> items = items_of(value, budget_);
    if (items.size() != names.size())
      refuse_template(line, fmt::format("{} names get {} values", names.size(), items.size()));
    for (size_t i = 0; i < names.size(); ++i) set(names[i], items[i]);
  }

  Flow run_body(const JinjaBody& body, std::string& out) {
    for (const JinjaStatement& statement : body) {
      budget_.spend(0);
      const Flow flow = run_statement(statement, out);
      if (flow != Flow::Next) return flow;
    }
    return Flow::Next;
  }

  std::string text_of_body(const JinjaBody& body) {
    std::string text;
    scopes_.within([&] { return run_body(body, text); });
    return text;
  }

  void put(std::string& out, std::string_view text) {
    budget_.spend(text.size());
    out += text;
  }

  Flow run_statement(const JinjaStatement& statement, std::string& out) {
    switch (statement.kind) {
      case JinjaStatementKind::Text:
        put(out, statement.text);
        return Flow::Next;
      case JinjaStatementKind::Print: {
        const JinjaValue value = evaluate(*statement.expressions.front());
        at_template_line(statement.line, [&] {
          spend_on(value, budget_);
          put(out, to_text(value));
          return 0;
        });
        return Flow::Next;
      }
      case JinjaStatementKind::If:
        return run_if(statement, out);
      case JinjaStatementKind::For:
        return run_for(statement, out);
      case JinjaStatementKind::With:
        return run_with(statement, out);
      case JinjaStatementKind::Break:
        return Flow::Break;
      case JinjaStatementKind::Continue:
        return Flow::Continue;
      default:
        run_definition(statement, out);
        return Flow::Next;
    }
  }

  void run_definition(const JinjaStatement& statement, std::string& out) {
    switch (statement.kind) {
      case JinjaStatementKind::Set:
        return run_set(statement);
      case JinjaStatementKind::SetBlock: {
        JinjaValue value = JinjaValue::text(text_of_body(statement.bodies.front()));
        if (!statement.expressions.empty())
          value = filtered(*statement.expressions.front(), std::move(value));
        return set(statement.names.front(), std::move(value));
      }
      case JinjaStatementKind::Macro:
        return set(statement.macro->name,
                   JinjaValue(std::make_shared<const JinjaFunction>(
                       JinjaFunction{statement.macro->name, statement.macro.get(), nullptr})));
      case JinjaStatementKind::FilterBlock:
        return put(out,
                   to_text(filtered(*statement.expressions.front(),
                                    JinjaValue::text(text_of_body(statement.bodies.front())))));
      default: {  // Generation
        const size_t begin = out.size();
        put(out, text_of_body(statement.bodies.front()));
        if (&out == &output_.text) output_.generated.emplace_back(begin, out.size());
      }
    }
  }

  Flow run_if(const JinjaStatement& statement, std::string& out) {
    for (size_t i = 0; i < statement.expressions.size(); ++i)
      if (evaluate(*statement.expressions[i]).truth()) return run_body(statement.bodies[i], out);
    return run_body(statement.otherwise, out);
  }

  void run_set(const JinjaStatement& statement) {
    JinjaValue value = evaluate(*statement.expressions.front());
    if (statement.text.empty()) return assign(statement.names, value, statement.line);
    const JinjaValue* found = scopes_.find(statement.names.front(), budget_);
    const JinjaValue::Namespace* names = found ? found->get<JinjaValue::Namespace>() : nullptr;
    if (!names)
      refuse_template(statement.line, fmt::format("{} is no namespace", statement.names.front()));
    set_attribute(**names, statement.text, std::move(value), statement.line);
  }

  void set_attribute(JinjaNamespace& names, const std::string& name, JinjaValue value, int line) {
    if (value.get<JinjaValue::Namespace>() || value.get<JinjaValue::Loop>())
      refuse_template(line, "a namespace cannot hold a namespace or a loop");
    JinjaScopes::set_member(names.members, name, std::move(value), budget_);
  }

  Flow run_with(const JinjaStatement& statement, std::string& out) {
    std::vector<JinjaValue> values;
    for (const auto& expression : statement.expressions) values.push_back(evaluate(*expression));
    return scopes_.within([&] {
      for (size_t i = 0; i < values.size(); ++i) set(statement.names[i], values[i]);
      return run_body(statement.bodies.front(), out);
    });
  }

  std::vector<JinjaValue> items_of_loop(const JinjaStatement& statement) {
    const JinjaValue all = evaluate(*statement.expressions.front());
    std::vector<JinjaValue> items =
        at_template_line(statement.line, [&] { return items_of(all, budget_); });
    if (statement.expressions.size() == 1) return items;
    std::vector<JinjaValue> kept;
    for (const JinjaValue& item : items) {
      const bool keeps = scopes_.within([&] {
        assign(statement.names, item, statement.line);
        return evaluate(*statement.expressions[1]).truth();
      });
      if (keeps) kept.push_back(item);
    }
    return kept;
  }

  Flow run_for(const JinjaStatement& statement, std::string& out) {
    auto items = std::make_shared<JinjaList>();
    items->items = items_of_loop(statement);
    if (items->items.empty()) return run_body(statement.otherwise, out);
    ++loops_;
    for (size_t i = 0; i < items->items.size(); ++i) {
      budget_.spend(sizeof(JinjaLoop) + sizeof(JinjaScopes));
      const Flow flow = scopes_.within([&] {
        set("loop", JinjaValue(std::make_shared<const JinjaLoop>(JinjaLoop{i, items, loops_})));
        assign(statement.names, items->items[i], statement.line);
        return run_body(statement.bodies.front(), out);
      });
      if (flow == Flow::Break) break;
    }
    --loops_;
    return Flow::Next;
  }

  JinjaValue evaluate(const JinjaExpression& expression) {
    budget_.spend(0);
    switch (expression.kind) {
      case JinjaExpressionKind::Constant:
        return expression.constant;
      case JinjaExpressionKind::Name:
        return variable(expression);
      case JinjaExpressionKind::Conditional:
        if (evaluate(*expression.children[1]).truth()) return evaluate(*expression.children[0]);
        return expression.children.size() > 2 ? evaluate(*expression.children[2]) : JinjaValue();
      case JinjaExpressionKind::Unary:
        return unary(expression);
      case JinjaExpressionKind::Binary:
        return binary(expression);
      case JinjaExpressionKind::Compare:
        return comparison(expression);
      case JinjaExpressionKind::Call:
        return call(expression);
      case JinjaExpressionKind::List:
      case JinjaExpressionKind::Tuple:
      case JinjaExpressionKind::Dict:
        return collection(expression);
      default:
        return of_value(expression, evaluate(*expression.children.front()));
    }
  }

  JinjaValue variable(const JinjaExpression& expression) {
    if (const JinjaValue* found = scopes_.find(expression.text, budget_)) return *found;
    if (is_jinja_global(expression.text))
      return JinjaValue(
          std::make_shared<const JinjaFunction>(JinjaFunction{expression.text, nullptr, nullptr}));
    return JinjaValue();
  }

  JinjaValue unary(const JinjaExpression& expression) {
    const JinjaValue value = evaluate(*expression.children.front());
    if (expression.text == "not") return JinjaValue(!value.truth());
    const double* fraction = value.get<double>();
    if (fraction) return JinjaValue(expression.text == "-" ? -*fraction : *fraction);  // -0.0, too
    return at_template_line(expression.line, [&] {
      return jinja_binary(expression.text, JinjaValue(int64_t{0}), value, budget_);
    });
  }

  JinjaValue binary(const JinjaExpression& expression) {
    JinjaValue left = evaluate(*expression.children[0]);
    if (expression.text == "or") return left.truth() ? left : evaluate(*expression.children[1]);
    if (expression.text == "and") return left.truth() ? evaluate(*expression.children[1]) : left;
    const JinjaValue right = evaluate(*expression.children[1]);
    return at_template_line(expression.line,
                            [&] { return jinja_binary(expression.text, left, right, budget_); });
  }

  JinjaValue comparison(const JinjaExpression& expression) {
    JinjaValue left = evaluate(*expression.children.front());
    for (size_t i = 0; i < expression.operators.size(); ++i) {
      JinjaValue right = evaluate(*expression.children[i + 1]);
      const bool holds = at_template_line(expression.line, [&] {
        return jinja_compare(expression.operators[i], left, right, budget_);
      });
      if (!holds) return JinjaValue(false);
      left = std::move(right);
    }
    return JinjaValue(true);
  }

  JinjaValue collection(const JinjaExpression& expression) {
    budget_.spend(expression.children.size() * 2 * sizeof(JinjaValue));
    std::vector<JinjaValue> items;
    for (const auto& child : expression.children) items.push_back(evaluate(*child));
    return at_template_line(expression.line, [&] {
      if (expression.kind != JinjaExpressionKind::Dict)
        return JinjaValue::list(std::move(items), expression.kind == JinjaExpressionKind::Tuple);
      std::vector<JinjaMember> members;
      for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (!items[i].as_text())
          throw user_error("a dict has a {} as a name", items[i].type_name()).help("use a text");
        budget_.spend(items[i].as_text()->size() + members.size());
        const auto same = std::ranges::find(members, *items[i].as_text(), &JinjaMember::first);
        if (same != members.end())
          same->second = items[i + 1];
        else
          members.emplace_back(*items[i].as_text(), items[i + 1]);
      }
      return JinjaValue::dict(std::move(members));
    });
  }

  // Member, Item, Slice, Filter, Test.
  JinjaValue of_value(const JinjaExpression& expression, JinjaValue of) {
    if (expression.kind == JinjaExpressionKind::Filter) return filtered_by(expression, of);
    if (expression.kind == JinjaExpressionKind::Test) {
      const JinjaArguments arguments = arguments_of(expression, 1, expression.text);
      return at_template_line(expression.line, [&] {
        return JinjaValue(jinja_test(expression.text, of, arguments, budget_) !=
                          expression.negated);
      });
    }
    if (expression.kind == JinjaExpressionKind::Member)
      return at_template_line(expression.line,
                              [&] { return jinja_attribute(of, expression.text, budget_); });
    std::array<JinjaValue, 3> places;
    for (size_t i = 1; i < expression.children.size(); ++i)
      if (expression.children[i]) places[i - 1] = evaluate(*expression.children[i]);
    return at_template_line(expression.line, [&] {
      return expression.kind == JinjaExpressionKind::Item
                 ? jinja_item(of, places[0], budget_)
                 : jinja_slice(of, places[0], places[1], places[2], budget_);
    });
  }

  JinjaValue filtered_by(const JinjaExpression& filter, const JinjaValue& value) {
    const JinjaArguments arguments = arguments_of(filter, 1, filter.text);
    return at_template_line(filter.line,
                            [&] { return jinja_filter(filter.text, value, arguments, budget_); });
  }

  // The filters of a block: the innermost has a constant in the place of its value.
  JinjaValue filtered(const JinjaExpression& filter, JinjaValue value) {
    const JinjaExpression& inner = *filter.children.front();
    if (inner.kind == JinjaExpressionKind::Filter) value = filtered(inner, std::move(value));
    return filtered_by(filter, value);
  }

  JinjaArguments arguments_of(const JinjaExpression& call, size_t first, std::string of) {
    JinjaArguments arguments{.of = std::move(of), .values = {}, .named = {}};
    for (size_t i = first; i < call.children.size(); ++i)
      arguments.values.push_back(evaluate(*call.children[i]));
    for (const auto& [name, value] : call.named)
      arguments.named.emplace_back(name, evaluate(*value));
    return arguments;
  }

  JinjaValue call(const JinjaExpression& expression) {
    const JinjaValue called = evaluate(*expression.children.front());
    const JinjaValue::Function* function = called.get<JinjaValue::Function>();
    if (!function)
      refuse_template(expression.line, fmt::format("a {} cannot be called", called.type_name()));
    const JinjaArguments arguments = arguments_of(expression, 1, (*function)->name);
    return at_template_line(expression.line, [&] {
      if ((*function)->macro) return call_macro(*(*function)->macro, arguments);
      if ((*function)->self) return call_method(**function, arguments, budget_);
      return call_global((*function)->name, arguments, now_, budget_);
    });
  }

  // With the variables of the template and its own, not with those of its caller.
  JinjaValue call_macro(const JinjaMacro& macro, const JinjaArguments& arguments) {
    if (calls_ == kMostCalls)
      throw user_error("macros call each other more than {} deep", kMostCalls)
          .help("write it as a loop");
    if (arguments.values.size() > macro.parameters.size())
      throw user_error("the macro {} takes {} values, but has {}", macro.name,
                       macro.parameters.size(), arguments.values.size())
          .help("give it fewer");
    ++calls_;
    const int loops = std::exchange(loops_, 0);
    std::string text;
    scopes_.within_macro([&] {
      for (size_t i = 0; i < macro.parameters.size(); ++i) {
        const JinjaMacro::Parameter& parameter = macro.parameters[i];
        const JinjaValue* given = arguments.find(i, parameter.name);
        set(parameter.name, given             ? *given
                            : parameter.value ? evaluate(*parameter.value)
                                              : JinjaValue());
      }
      return run_body(macro.body, text);
    });
    loops_ = loops;
    --calls_;
    return JinjaValue::text(std::move(text));
  }

  JinjaScopes scopes_;
  const std::tm& now_;
  JinjaBudget& budget_;
  JinjaOutput output_;
  int loops_ = 0, calls_ = 0;
};

}  // namespace

JinjaOutput run_jinja(const JinjaBody& body, std::vector<JinjaMember> variables, const std::tm& now,
                      JinjaBudget& budget) {
  return TemplateRun(std::move(variables), now, budget).run(body);
}

}  // namespace tessera
