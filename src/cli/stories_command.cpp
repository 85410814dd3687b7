// SPDX-License-Identifier: Apache-2.0
// tessera stories: writes the world of the built-in stories to files.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/progress_bar.h"
#include "cli/run_options.h"
#include "data/stories/story_files.h"
#include "files/atomic_file.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "  text     {\"text\": \"...\"}: stories, and pages of facts, of sums and of questions\n"
    "  chats    {\"messages\": [...], \"topic\": \"...\"}: sums, facts, stories on request, "
    "questions\n"
    "           about a story, greetings; \"needs\" has what each of many right answers contains\n"
    "  choices  {\"context\": \"...\", \"choices\": [...], \"answer\": 0, \"topic\": \"...\"}: "
    "held-out\n"
    "           questions, laid out with <|im_start|> and <|im_end|>\n"
    "A line is a function of the seed and its number. One question in ten is held out, whatever "
    "the\n"
    "seed: it is in no text and no chats but those of --held-out. Of a sum that is its numbers, "
    "of\n"
    "other questions their wording.\n"
    "Examples:\n"
    "  tessera stories text --lines 20000 --out text.jsonl\n"
    "  tessera stories chats --lines 40000 --out chats.jsonl\n"
    "  tessera stories chats --held-out --lines 200 --out asked.jsonl\n"
    "  tessera stories choices --lines 400 --out choices.jsonl\n"
    "  tessera tokenizer train text.jsonl --vocab 1024 --like qwen";

struct StoriesCommand {
  std::string kind, out;
  int64_t lines = 0;
  uint64_t seed = 1;
  bool held_out = false, json = false;
};

std::string line_of(const StoriesCommand& command, uint64_t index) {
  if (command.kind == "text") return story_text_line(command.seed, index);
  if (command.kind == "choices") return story_choice_line(command.seed, index);
  return story_chat_line(command.seed, index,
                         command.held_out ? StorySplit::HeldOut : StorySplit::Training);
}

void run(const StoriesCommand& command) {
  if (command.held_out && command.kind != "chats")
    throw user_error("--held-out is for chats: {}",
                     command.kind == "text" ? "no text is held out" : "all choices are held out")
        .help("leave it out");
  AtomicFile file(command.out);
  {
    ProgressBar bar("writing", command.lines, false);
    for (int64_t index = 0; index < command.lines; ++index) {
      file.write(line_of(command, static_cast<uint64_t>(index)) + '\n');
      if (index % 256 == 0) bar.show(index);
    }
  }
  file.commit();
  if (command.json)
    print_json(
        Json{{"out", command.out}, {"lines", command.lines}, {"bytes", file.written_bytes()}});
  else
    fmt::print("{}: {} lines, {} bytes\n", command.out, command.lines, file.written_bytes());
}

}  // namespace

void add_stories_command(Command app) {
  auto command = std::make_shared<StoriesCommand>();
  const Command stories =
      app.add_subcommand("stories", "write built-in stories, conversations or questions to a file");
  stories.footer(kFooter);
  stories.add_option("kind", command->kind, "what each line holds")
      .choices({"text", "chats", "choices"})
      .required();
  stories.add_option("--lines", command->lines, "number of lines")
      .required()
      .range(int64_t{1}, int64_t{1} << 40);
  stories.add_option("--out", command->out, "file to write, .jsonl").required();
  stories.add_option("--seed", command->seed, "seed of all that is drawn");
  stories.add_flag("--held-out", command->held_out,
                   "of chats: only with questions that training has none of");
  add_json_flag(stories, command->json);
  stories.on_run([command] { run(*command); });
}

}  // namespace tessera
