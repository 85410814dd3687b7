// SPDX-License-Identifier: Apache-2.0
// The commands as a table, for man pages and completion: all that --help knows, without CLI11.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace tessera {

struct OptionRow {
  std::vector<std::string> names;    // "--help", "-h"; of a position: its name alone
  std::string value;                 // what --help calls its value; empty: a flag
  std::vector<std::string> choices;  // empty: any value
  std::string range;                 // "1 - 256"; "positive"; empty: any
  std::string fallback;              // the default, if --help shows it
  std::string doc;
  bool position = false, required = false, repeats = false;
};

struct CommandRow {
  std::string words;  // "tessera bench step"
  std::string doc;
  std::string footer;  // ends with the examples
  std::vector<OptionRow> options, positions;
  std::vector<CommandRow> commands;
  std::string starts;  // the command whose words follow its own: launch starts train
};

// The command's last word: "step" of "tessera bench step".
inline std::string last_word(const CommandRow& command) {
  return command.words.substr(command.words.rfind(' ') + 1);
}

// Man pages by file name: the program, and each of its subcommands with those below it. The date
// is that of the release, and may be empty.
struct ManPage {
  std::string file, text;
};
std::vector<ManPage> man_pages(const CommandRow& program, const std::string& version,
                               const std::string& date);

// What the shell offers for an option's value.
struct ValueWords {
  std::vector<std::string> words;
  bool files = false, folders = false;

  auto operator<=>(const ValueWords&) const = default;
};
ValueWords value_words(const OptionRow& option);
// The keys of a config that --set takes, and the values of those that have a list of them.
struct KeyWords {
  std::string key;
  std::vector<std::string> words;
};
std::vector<KeyWords> key_words();

std::string bash_completion(const CommandRow& program);
std::string zsh_completion(const CommandRow& program);
std::string fish_completion(const CommandRow& program);

}  // namespace tessera
