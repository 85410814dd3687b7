// SPDX-License-Identifier: Apache-2.0
// tessera docs man, tessera docs completion: man pages and shell completion, from the table of
// commands and their options.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "files/atomic_file.h"
#include "files/json.h"

namespace tessera {
namespace {

struct ManCommand {
  std::string word, out, date;
  bool json = false;
};

void show_man(const ManCommand& command, const CommandRow& program) {
  if (command.date.find_first_not_of("0123456789-") != std::string::npos)
    throw user_error("--date is {}, but must be a date", command.date).help("write 2026-11-16");
  const std::vector<ManPage> pages = man_pages(program, release(), command.date);
  if (!command.out.empty()) {
    std::filesystem::create_directories(command.out);
    for (const ManPage& page : pages)
      write_file_atomically(std::filesystem::path(command.out) / page.file, page.text);
    return;
  }
  std::string wanted = program.words;
  if (!command.word.empty()) wanted += "-" + command.word;
  for (const ManPage& page : pages)
    if (page.file == wanted + ".1") {
      if (command.json)
        print_json({{"page", wanted}, {"roff", page.text}});
      else
        fmt::print("{}", page.text);
      return;
    }
  throw user_error("there is no subcommand {}", command.word).help("see tessera --help");
}

Json json_of(const OptionRow& option) {
  return {{"names", option.names},       {"value", option.value},      {"choices", option.choices},
          {"range", option.range},       {"default", option.fallback}, {"doc", option.doc},
          {"position", option.position}, {"required", option.required}};
}

Json json_of(const CommandRow& command) {
  Json row{{"command", command.words}, {"doc", command.doc},         {"footer", command.footer},
           {"options", Json::array()}, {"positions", Json::array()}, {"commands", Json::array()}};
  for (const OptionRow& option : command.options) row["options"].push_back(json_of(option));
  for (const OptionRow& option : command.positions) row["positions"].push_back(json_of(option));
  for (const CommandRow& each : command.commands) row["commands"].push_back(json_of(each));
  return row;
}

constexpr const char* kManFooter =
    "Examples:\n"
    "  tessera docs man                           the page tessera(1)\n"
    "  tessera docs man train | man -l -          one of a subcommand, as man shows it\n"
    "  tessera docs man --out man1                all of them, as files";

constexpr const char* kCompletionFooter =
    "Examples:\n"
    "  source <(tessera docs completion bash)\n"
    "  tessera docs completion zsh > ~/.zfunc/_tessera\n"
    "  tessera docs completion fish > ~/.config/fish/completions/tessera.fish";

}  // namespace

void add_docs_man(Command docs, Command app) {
  const Command man = docs.add_subcommand("man", "print a man page, or write all of them");
  auto command = std::make_shared<ManCommand>();
  man.footer(kManFooter);
  man.add_option("command", command->word, "the subcommand that the page is about");
  man.add_option("--out", command->out, "write all pages into this folder").type_name("FOLDER");
  man.add_option("--date", command->date, "the date of the release, which pages name")
      .type_name("DATE");
  add_json_flag(man, command->json);
  man.on_run([=] { show_man(*command, app.row()); });
}

void add_docs_completion(Command docs, Command app) {
  const Command completion =
      docs.add_subcommand("completion", "print the completion of commands and options for a shell");
  auto shell = std::make_shared<std::string>("bash");
  auto json = std::make_shared<bool>(false);
  completion.footer(kCompletionFooter);
  completion.add_option("shell", *shell, "the shell").choices({"bash", "fish", "zsh"}).required();
  add_json_flag(completion, *json);
  completion.on_run([=] {
    const std::string text = *shell == "bash"   ? bash_completion(app.row())
                             : *shell == "fish" ? fish_completion(app.row())
                                                : zsh_completion(app.row());
    if (*json)
      print_json({{"shell", *shell}, {"script", text}});
    else
      fmt::print("{}", text);
  });
}

void add_docs_commands(Command docs, Command app) {
  const Command commands =
      docs.add_subcommand("commands", "list all commands with their options, as JSON");
  auto json = std::make_shared<bool>(true);
  commands.footer("Examples:\n  tessera docs commands | python3 -m json.tool");
  add_json_flag(commands, *json);
  commands.on_run([=] { print_json({{"version", release()}, {"program", json_of(app.row())}}); });
}

}  // namespace tessera
