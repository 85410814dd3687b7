// SPDX-License-Identifier: Apache-2.0
// tessera studio: the compiler, the simulator and runs for a page in the browser; --ask answers one
// question on standard output.
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "files/json.h"
#include "studio/answers.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  echo '{\"run\": {\"model\": \"tiny\"}}' | tessera studio --ask try\n"
    "  tessera studio --ask keys < /dev/null                every key of a config, as JSON";

struct StudioCommand {
  std::string ask;
};

// Parts of a stream and the answer, each on one line; an error is an answer, too.
void answer_on_output(const std::string& kind) {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  try {
    Question question = parse_question(text);
    question.tell = [](const Json& part) {
      print_json(part);
      return true;
    };
    const Answer answer = ask(kind, question);
    if (answer.columns.empty())
      print_json(answer.json);
    else
      fmt::print("{}", packed(answer));
  } catch (const UserError& error) {
    print_json(error_json(error));
    throw ExitStatus(kUserExitStatus);
  }
}

}  // namespace

void add_studio_command(Command app) {
  auto command = std::make_shared<StudioCommand>();
  const Command studio =
      app.add_subcommand("studio", "answer the questions of a page about plans and runs");
  studio.footer(kFooter);
  studio
      .add_option("--ask", command->ask,
                  "read a question (JSON) on standard input and print the answer")
      .type_name("KIND");
  studio.on_run([command] { answer_on_output(command->ask); });
}

}  // namespace tessera
