// SPDX-License-Identifier: Apache-2.0
// Completion for fish: a line for each command, option and list of values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_table.h"

namespace tessera {
namespace {

std::string fish_text(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') safe += '\\';
    safe += letter;
  }
  return "'" + safe + "'";
}

std::string fish_values(const OptionRow& option) {
  if (option.names.front() == "--set") return " -x -a '(__tessera_keys)'";
  const ValueWords words = value_words(option);
  const std::string list = fmt::format("{}", fmt::join(words.words, " "));
  if (words.folders) return " -x -a '(__fish_complete_directories)'";
  if (words.files) return " -r -F" + (list.empty() ? "" : " -a " + fish_text(list));
  return list.empty() ? " -x" : " -x -a " + fish_text(list);
}

std::string fish_option(const OptionRow& option) {
  std::string text;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) text += fish_values(option);
  return text + " -d " + fish_text(option.doc);
}

struct FishLines {
  std::string commands, paths;
};

void add_fish_lines(FishLines& lines, const CommandRow& command) {
  const size_t blank = command.words.find(' ');
  const std::string path = blank == std::string::npos ? "" : command.words.substr(blank + 1);
  const auto add = [&](const std::string& what) {
    lines.commands += fmt::format("complete -c tessera -n \"__tessera_at '{}'\"{}\n", path, what);
  };
  if (!path.empty()) lines.paths += fmt::format(" '{}'", path);
  for (const CommandRow& each : command.commands)
    add(fmt::format(" -a {} -d {}", last_word(each), fish_text(each.doc)));
  if (!command.starts.empty()) add(" -a " + command.starts);
  for (const OptionRow& option : command.options) add(fish_option(option));
  for (const OptionRow& position : command.positions) {
    const ValueWords words = value_words(position);
    if (words.files || words.folders) add(" -F");
    if (!words.words.empty())
      add(fmt::format(" -a {}", fish_text(fmt::format("{}", fmt::join(words.words, " ")))));
  }
  for (const CommandRow& each : command.commands) add_fish_lines(lines, each);
}

std::string fish_keys() {
  std::string keys;
  for (const KeyWords& row : key_words()) {
    keys += "    echo " + row.key + "=\n";
    for (const std::string& word : row.words)
      keys += fmt::format("    echo {}={}\n", row.key, word);
  }
  return "function __tessera_keys\n" + keys + "end\n\n";
}

// A command that starts another one is replaced by it.
std::string fish_path(const CommandRow& program, const std::string& paths) {
  std::string rest = "''";
  for (const CommandRow& each : program.commands)
    if (!each.starts.empty()) rest += " " + fish_text(last_word(each));
  return fmt::format(
      "# Whether the command on the line is this one.\n"
      "function __tessera_at\n"
      "    set -l at ''\n"
      "    set -l known{}\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        set -l next (string trim \"$at $word\")\n"
      "        if contains -- $next $known\n"
      "            set at $next\n"
      "        else if contains -- $at {}; and contains -- $word $known\n"
      "            set at $word\n"
      "        end\n"
      "    end\n"
      "    test \"$at\" = \"$argv[1]\"\n"
      "end\n\n",
      paths, rest);
}

}  // namespace

std::string fish_completion(const CommandRow& program) {
  FishLines lines;
  add_fish_lines(lines, program);
  return "# SPDX-License-Identifier: Apache-2.0\n# fish completion for tessera; made by `tessera "
         "docs "
         "completion fish`.\n\n" +
         fish_path(program, lines.paths) + fish_keys() + "complete -c tessera -f\n" +
         "complete -c tessera-mpi -w tessera\n" + lines.commands;
}

}  // namespace tessera
