// SPDX-License-Identifier: Apache-2.0
// Completion for bash: three lists, by command, and a function that finds the command on the line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/command_table.h"

namespace tessera {
namespace {

struct BashLists {
  std::string commands, flags;
  std::map<ValueWords, std::vector<std::string>> values;  // "tessera train --model" by answer
  std::string started;  // a command that another one starts is that command
};

std::string bash_answer(const ValueWords& words) {
  std::string answer;
  if (!words.words.empty()) answer += fmt::format("words='{}' ", fmt::join(words.words, " "));
  if (words.files) answer += "files=yes ";
  if (words.folders) answer += "folders=yes ";
  return answer.empty() ? ":" : answer;
}

void add_to(BashLists& lists, const CommandRow& command) {
  std::vector<std::string> names, flags;
  for (const CommandRow& each : command.commands) names.push_back(last_word(each));
  if (!command.starts.empty()) names.push_back(command.starts);
  for (const OptionRow& option : command.options) {
    for (const std::string& name : option.names)
      if (name.starts_with("--")) flags.push_back(name);
    if (option.value.empty()) continue;
    for (const std::string& name : option.names)
      lists.values[value_words(option)].push_back(fmt::format("'{} {}'", command.words, name));
  }
  ValueWords positions;
  for (const OptionRow& position : command.positions) {
    const ValueWords each = value_words(position);
    positions.words.insert(positions.words.end(), each.words.begin(), each.words.end());
    positions.files |= each.files;
    positions.folders |= each.folders;
  }
  lists.values[positions].push_back(fmt::format("'{} '", command.words));
  if (!names.empty())
    lists.commands +=
        fmt::format("    '{}') words='{}' ;;\n", command.words, fmt::join(names, " "));
  lists.flags += fmt::format("    '{}') words='{}' ;;\n", command.words, fmt::join(flags, " "));
  if (!command.starts.empty())
    lists.started +=
        fmt::format("      '{0} {1}') command='tessera {1}' ;;\n", command.words, command.starts);
  for (const CommandRow& each : command.commands) add_to(lists, each);
}

std::string bash_values(const BashLists& lists) {
  std::string text;
  for (const auto& [words, places] : lists.values)
    text += fmt::format("    {}) {};;\n", fmt::join(places, "|"), bash_answer(words) + " ");
  return text;
}

std::string bash_keys() {
  std::vector<std::string> keys;
  std::string values;
  for (const KeyWords& row : key_words()) {
    keys.push_back(row.key + "=");
    if (!row.words.empty())
      values += fmt::format("      {}) words='{}' ;;\n", row.key, fmt::join(row.words, " "));
  }
  return fmt::format(
      "  if [[ $1 != *=* ]]; then\n    words='{}'\n    compopt -o nospace\n  else\n    case "
      "${{1%%=*}} in\n{}    esac\n    words=\"${{words:+${{1%%=*}}=${{words// / "
      "${{1%%=*}}=}}}}\"\n  fi\n",
      fmt::join(keys, " "), values);
}

// Bash takes dp=2 for three words: they are joined again, and what the line has is cut from
// answers.
constexpr std::string_view kBody = R"(_tessera() {
  local line=() each i words='' files='' folders='' command='@program@' flag='' taken=''
  for ((i = 1; i <= COMP_CWORD; i++)); do
    each=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $each == =* || ${COMP_WORDS[i - 1]} == *= ]]; then
      line[-1]+=$each
    else
      line+=("$each")
    fi
  done
  local current=${line[-1]}
  unset 'line[-1]'
  for each in "${line[@]}"; do
    flag=''
    _tessera_commands "$command"
    [[ " $words " == *" $each "* ]] && command+=" $each"
    words=''
    case "$command" in
@started@    esac
    [[ $each == -* ]] && flag=$each
  done
  if [[ $current == --*=* ]]; then
    flag=${current%%=*} taken="${current%%=*}=" current=${current#*=}
  fi
  COMPREPLY=()
  if [[ $flag == --set ]]; then
    _tessera_keys "$current"
  elif [[ -n $flag ]] && _tessera_values "$command $flag"; then
    :
  elif [[ $current == -* ]]; then
    _tessera_flags "$command"
  else
    local commands
    _tessera_commands "$command"
    commands=$words words=''
    _tessera_values "$command "
    words="$commands $words"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  local IFS=$'\n'
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
  elif [[ -n $folders ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -d -- "$current"))
  fi
  if [[ $COMP_WORDBREAKS == *=* && $taken$current == *=* ]]; then
    local before=$taken$current
    before=${before%"${before##*=}"}
    [[ -n $taken ]] || COMPREPLY=("${COMPREPLY[@]#"$before"}")
  fi
}

complete -F _tessera @program@ tessera-mpi
)";

std::string with_names(std::string text, const std::string& program, const std::string& started) {
  for (const auto& [mark, name] :
       {std::pair<std::string, std::string>{"@program@", program}, {"@started@", started}})
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), name);
  return text;
}

}  // namespace

std::string bash_completion(const CommandRow& program) {
  BashLists lists;
  add_to(lists, program);
  std::string text =
      "# SPDX-License-Identifier: Apache-2.0\n# bash completion for tessera; made by `tessera docs "
      "completion bash`. Each function sets words, files and folders of _tessera.\n";
  text += "_tessera_commands() {\n  case $1 in\n" + lists.commands + "  esac\n}\n\n";
  text += "_tessera_flags() {\n  case $1 in\n" + lists.flags + "  esac\n}\n\n";
  text += "# Fails where a flag takes no value.\n_tessera_values() {\n  case $1 in\n" +
          bash_values(lists) + "    *) return 1 ;;\n  esac\n}\n\n";
  text += "_tessera_keys() {\n" + bash_keys() + "}\n\n";
  return text + with_names(std::string(kBody), program.words, lists.started);
}

}  // namespace tessera
