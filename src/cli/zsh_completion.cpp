// SPDX-License-Identifier: Apache-2.0
// Completion for zsh: a function for each command, in the language of _arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_table.h"

namespace tessera {
namespace {

// Within single quotes and one of zsh's separators.
std::string zsh_text(const std::string& text, std::string_view marks) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '\'') {
      safe += "'\\''";
      continue;
    }
    if (letter == '\\' || marks.find(letter) != std::string_view::npos) safe += '\\';
    safe += letter;
  }
  return safe;
}

std::string zsh_function(const CommandRow& command) {
  std::string name = "_" + command.words;
  for (char& letter : name)
    if (letter == ' ') letter = '_';
  return name;
}

std::string zsh_action(const OptionRow& option) {
  if (option.names.front() == "--set") return "_tessera_keys";
  const ValueWords words = value_words(option);
  const std::string list = fmt::format("{}", fmt::join(words.words, " "));
  if (words.folders) return "_files -/";
  if (words.files) return list.empty() ? "_files" : fmt::format("{{compadd -- {}; _files}}", list);
  return list.empty() ? " " : fmt::format("({})", list);
}

std::string zsh_option(const OptionRow& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += fmt::format(" \\\n    '{}{}[{}]", option.repeats ? "*" : "", name,
                        zsh_text(option.doc, "[]"));
    if (!option.value.empty())
      text += fmt::format(":{}:{}", zsh_text(option.value, ":"), zsh_action(option));
    text += "'";
  }
  return text;
}

std::string zsh_commands(const CommandRow& command) {
  std::string text = "    commands)\n      local -a commands=(";
  for (const CommandRow& each : command.commands)
    text +=
        fmt::format("\n        '{}:{}'", zsh_text(last_word(each), ":"), zsh_text(each.doc, ""));
  return text + ")\n      _describe command commands ;;\n";
}

std::string zsh_dispatch(const CommandRow& command, const std::string& on) {
  std::string text = fmt::format("    rest)\n      case ${} in\n", on);
  for (const CommandRow& each : command.commands)
    text += fmt::format("        {}) {} ;;\n", last_word(each), zsh_function(each));
  return text + "      esac ;;\n";
}

std::string zsh_functions(const CommandRow& command, const CommandRow& program) {
  std::string text = fmt::format("{}() {{\n", zsh_function(command));
  const bool states = !command.commands.empty() || !command.starts.empty();
  if (states) text += "  local state line\n";
  text += fmt::format("  _arguments{}", states ? " -C" : "");
  for (const OptionRow& option : command.options) text += zsh_option(option);
  for (const OptionRow& position : command.positions)
    text += fmt::format(" \\\n    '{}:{}:{}'", position.repeats ? "*" : "",
                        zsh_text(position.names.front(), ":"), zsh_action(position));
  if (states) {
    text += " \\\n    '1: :->commands' '*:: :->rest'\n  case $state in\n";
    CommandRow source = command;
    for (const CommandRow& each : program.commands)
      if (last_word(each) == command.starts) source.commands = {each};
    text += zsh_commands(source) + zsh_dispatch(source, "line[1]") + "  esac";
  }
  text += "\n}\n\n";
  for (const CommandRow& each : command.commands) text += zsh_functions(each, program);
  return text;
}

std::string zsh_keys() {
  std::string keys, values;
  for (const KeyWords& row : key_words()) {
    keys += row.key + "= ";
    if (!row.words.empty())
      values += fmt::format("      {}) compset -P '*='; compadd -- {} ;;\n", row.key,
                            fmt::join(row.words, " "));
  }
  return fmt::format(
      "_tessera_keys() {{\n  if [[ $PREFIX != *=* ]]; then\n    compadd -S '' -- {}\n  else\n    "
      "case ${{PREFIX%%=*}} in\n{}    esac\n  fi\n}}\n\n",
      keys, values);
}

}  // namespace

std::string zsh_completion(const CommandRow& program) {
  return "#compdef tessera tessera-mpi\n# SPDX-License-Identifier: Apache-2.0\n# zsh completion "
         "for "
         "tessera; made by `tessera docs completion zsh`.\n\n" +
         zsh_keys() + zsh_functions(program, program) + "_tessera \"$@\"\n";
}

}  // namespace tessera
