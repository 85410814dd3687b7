// SPDX-License-Identifier: Apache-2.0
// tessera studio: the compiler, the simulator and runs for a page in the browser; --ask answers one
// question on standard output.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/studio_service.h"
#include "files/folder.h"
#include "files/json.h"
#include "serve/access_token.h"
#include "serve/http_server.h"
#include "serve/opened_browser.h"
#include "studio/answers.h"
#include "studio/lessons/lesson.h"
#include "studio/runs/kept_chat.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/started_runs.h"
#include "system/blocked_signals.h"
#include "system/say.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "The page is served to this machine alone, and answers whoever has the token in the address\n"
    "that is printed. From another machine: ssh -L 8642:127.0.0.1:8642 HOST, and --port 8642 "
    "there.\n"
    "Examples:\n"
    "  tessera studio                                       open the page in a browser\n"
    "  tessera studio out                                   with the runs below out/\n"
    "  tessera studio out --allow-runs                      start, stop and resume runs there, "
    "too\n"
    "  tessera studio --lesson ring                         open a lesson: ring attention\n"
    "  tessera studio --open 'time/llama3-8b 8x8192 bf16 dgx-h100 fsdp=8'   a plan, on Time\n"
    "  tessera studio --no-browser --port 8642              print its address only\n"
    "  echo '{\"run\": {\"model\": \"tiny\"}}' | tessera studio --ask try\n"
    "  tessera studio --ask keys < /dev/null                every key of a config, as JSON";

struct StudioCommand {
  std::vector<std::string> folders;
  std::string ask, assets, lesson, open;
  int port = 0;
  bool no_browser = false, allow_runs = false;
};

// Parts of a stream and the answer, each on one line; an error is an answer, too.
void answer_on_output(const std::string& kind, const StudioRuns& runs) {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  try {
    Question question = parse_question(text);
    question.runs = runs.folders;
    question.started = runs.started;
    question.tell = [](const Json& part) {
      if (!part.is_null()) print_json(part);
      return true;
    };
    const Answer answer = ask(kind, question);
    if (answer.json.find("columns"))
      fmt::print("{}", packed(answer));
    else
      print_json(answer.json);
  } catch (const UserError& error) {
    print_json(error_json(error));
    throw ExitStatus(kUserExitStatus);
  }
}

// As the page writes a line into its address.
std::string in_address(std::string_view line) {
  std::string text;
  for (const char c : line)
    if (std::isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("-._~=,:/").find(c) != std::string_view::npos)
      text += c;
    else
      text += c == ' ' ? "+" : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return text;
}

void answer_from(const StudioCommand& command, const RunFolders* folders) {
  std::optional<StartedRuns> started;
  if (command.allow_runs) started.emplace(command.folders.front());
  answer_on_output(command.ask, {folders, started ? &*started : nullptr});
}

void serve_page(const StudioCommand& command, const RunFolders* folders) {
  const BlockedSignals stops({SIGINT, SIGTERM, SIGHUP});  // before any thread starts
  const std::string token = make_access_token();
  std::optional<StartedRuns> started;
  if (command.allow_runs) started.emplace(command.folders.front());
  KeptChat chat;
  std::optional<HttpServer> server;
  server.emplace(studio_service(command.assets, {folders, started ? &*started : nullptr, &chat}),
                 static_cast<uint16_t>(command.port), token);
  std::string address = fmt::format("http://127.0.0.1:{}/#token={}", server->port(), token);
  if (!command.lesson.empty()) address += "&learn:" + command.lesson;
  if (!command.open.empty()) address += "&" + in_address(command.open);
  fmt::print("Tessera Studio: {}\nOnly this machine can open it; Ctrl-C ends it.\n", address);
  std::fflush(stdout);
  std::optional<OpenedBrowser> browser;
  if (!command.no_browser && has_display()) browser.emplace(address);
  stops.next();
  stops.restore();  // a second signal does not wait for what is being answered
  server.reset();
  if (const size_t running = started ? started->count_running() : 0; running > 0)
    say(stderr, "{} {} that Studio has started: saving and stopping; Ctrl-C again does not wait\n",
        running, running == 1 ? "run" : "runs");
}

}  // namespace

void add_studio_command(Command app) {
  auto command = std::make_shared<StudioCommand>();
  const Command studio =
      app.add_subcommand("studio", "show plans and runs in a browser: a page of this machine");
  studio.footer(kFooter);
  studio
      .add_option("folders", command->folders,
                  "folders of runs, or with runs below them, to show and to follow")
      .type_name("FOLDER");
  studio
      .add_option("--ask", command->ask,
                  "read a question (JSON) on standard input and print the answer")
      .type_name("KIND");
  studio.add_option("--port", command->port, "port of 127.0.0.1; 0 takes a free one")
      .type_name("N")
      .range(0, 65535)
      .show_default();
  studio.add_flag("--no-browser", command->no_browser, "print the address, open nothing");
  const Option lesson =
      studio.add_option("--lesson", command->lesson, "open the page at a lesson, such as ring")
          .type_name("NAME");
  studio
      .add_option("--open", command->open,
                  "open the page at a plan: a line as it has on top, or plan, map, time and / "
                  "before it")
      .type_name("LINE")
      .excludes(lesson);
  studio.add_flag("--allow-runs", command->allow_runs,
                  "the page may start runs in the first folder, stop, resume and kill them, and "
                  "write text and talk with them");
  studio
      .add_option("--assets", command->assets,
                  "take the page from a folder, not from the binary: for those who write it")
      .type_name("FOLDER");
  studio.on_run([command] {
    if (!command->lesson.empty()) find_lesson(command->lesson);
    if (command->allow_runs && command->folders.empty())
      throw UserError("--allow-runs needs a folder to start runs in")
          .help("tessera studio out --allow-runs");
    if (command->allow_runs) make_folder(command->folders.front(), "name another folder");
    std::optional<RunFolders> runs;
    if (!command->folders.empty())
      runs.emplace(
          std::vector<std::filesystem::path>(command->folders.begin(), command->folders.end()));
    if (command->ask.empty())
      serve_page(*command, runs ? &*runs : nullptr);
    else
      answer_from(*command, runs ? &*runs : nullptr);
  });
}

}  // namespace tessera
