// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_template.h"

#include "chat/jinja_evaluator.h"
#include "chat/jinja_parser.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr int64_t kLeastWork = 64 << 20, kWorkPerByte = 64;

std::tm present() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

void set_variable(std::vector<JinjaMember>& variables, const std::string& name, JinjaValue value) {
  for (auto& [known, old] : variables)
    if (known == name) {
      old = std::move(value);
      return;
    }
  variables.emplace_back(name, std::move(value));
}

template <typename F>
auto naming_origin(const std::string& origin, F f) {
  try {
    return f();
  } catch (const UserError& error) {
    const std::string place = error.place().empty() ? origin : error.place() + ", " + origin;
    throw UserError(error.message()).at(place).help(error.advice());
  }
}

bool marks_in(const JinjaBody& body) {
  for (const JinjaStatement& statement : body) {
    if (statement.kind == JinjaStatementKind::Generation) return true;
    for (const JinjaBody& inner : statement.bodies)
      if (marks_in(inner)) return true;
    if (marks_in(statement.otherwise)) return true;
  }
  return false;
}

}  // namespace

const char* const kPlainChatTemplate =
    "{%- set end = eos_token if eos_token is defined else '\\x03' %}\n"
    "{%- for message in messages %}\n"
    "{{- message.role | capitalize + ': ' + message.content | trim + end + '\\n' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{- 'Assistant:' }}{%- endif %}\n";

const char* const kMarkedChatTemplate =
    "{%- for message in messages %}\n"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>\\n' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}\n";

ChatTemplate::ChatTemplate(std::string_view source, std::string origin,
                           std::vector<JsonMember> variables)
    : source_(source), origin_(std::move(origin)), variables_(std::move(variables)) {
  body_ = naming_origin(origin_, [&] { return parse_jinja(source_); });
}

bool ChatTemplate::marks_generated() const { return marks_in(body_); }

ChatText ChatTemplate::apply(const Json& messages, const ChatTextOptions& options) const {
  return naming_origin(origin_, [&] {
    std::vector<JinjaMember> variables;
    for (const JsonMember& variable : variables_)
      set_variable(variables, variable.name, JinjaValue::from_json(variable.value));
    const JinjaValue none = JinjaValue::none();
    set_variable(variables, "messages", JinjaValue::from_json(messages));
    set_variable(variables, "tools", none);
    set_variable(variables, "documents", none);
    set_variable(variables, "add_generation_prompt", JinjaValue(options.opens_answer));
    for (const JsonMember& variable : options.variables)
      set_variable(variables, variable.name, JinjaValue::from_json(variable.value));
    JinjaBudget budget(kLeastWork + kWorkPerByte * static_cast<int64_t>(messages.dump().size()));
    JinjaOutput output =
        run_jinja(body_, std::move(variables), options.now.value_or(present()), budget);
    return ChatText{std::move(output.text), std::move(output.generated)};
  });
}

}  // namespace tessera
