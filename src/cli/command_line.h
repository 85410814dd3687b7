// SPDX-License-Identifier: Apache-2.0
// Commands, their options and what they run. CLI11 parses them; only command_line.cpp includes it,
// because including it is expensive to compile.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera {

// A handle, like Command: both are valid as long as their CommandLine.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  Option type_name(const std::string& name) const;  // in the help
  Option show_default() const;           // in the help, of the variable's value as it is now
  Option delimiter(char between) const;  // of several values in one word
  Option take_all() const;               // one value each time it is given
  Option values(int count) const;        // number of values each time
  Option choices(std::vector<std::string> names) const;
  template <typename T>
  Option range(T least, T most) const;
  Option not_negative() const;
  Option positive() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const std::string& name, const std::string& doc) const;
  void require_subcommand() const;
  void footer(const std::string& text) const;
  void version_flag(const std::string& version) const;

  // Names without dashes are positions. `value` must live as long as the command line.
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& doc) const;
  Option add_option_function(const std::string& name, std::function<void(const std::string&)> set,
                             const std::string& doc) const;
  Option add_flag(const std::string& name, bool& value, const std::string& doc) const;
  bool given(const std::string& name) const;

  // Words from the first unknown one on are passed on: `train` and its options.
  void keep_rest() const;
  std::vector<std::string> rest() const;

  void on_run(std::function<void()> run) const;

  // This command and those below it, as they are now.
  CommandRow row() const;

 private:
  CLI::App* app_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& doc);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command root();
  // Parses the words after the program's name and runs the command that they name. Returns false if
  // they asked for help or the version, which is printed. Mistakes are UserErrors.
  bool run(std::vector<std::string> words);

 private:
  std::unique_ptr<CLI::App> app_;
};

// Ends the program without a further message: a check that failed, a run that failed.
class ExitStatus : public std::exception {
 public:
  explicit ExitStatus(int status) : status_(status) {}
  int status() const { return status_; }
  const char* what() const noexcept override { return "the program ends"; }

 private:
  int status_;
};

}  // namespace tessera
