// SPDX-License-Identifier: Apache-2.0
// The questions `start` and `resume`: a run of this machine, as a child process. Its folder is made
// here, directly below the first folder that Studio was given.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "files/atomic_file.h"
#include "files/storage_error.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/order_of_run.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/started_runs.h"

namespace tessera {
namespace {

constexpr size_t kLongestName = 48;
constexpr int64_t kMostOrderBytes = 4096;
constexpr int kOrderDepth = 2;

// A folder's name, and never a path.
void check_name(const std::string& name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  const bool fits = !name.empty() && name.size() <= kLongestName && name[0] != '-' &&
                    name.find_first_not_of(kLetters) == std::string::npos &&
                    name != "checkpoints" && name != "tensorboard";
  if (!fits)
    throw UserError("the run's name cannot be used")
        .at("name")
        .help(fmt::format("use 1 to {} of a-z, 0-9, _ and -, or leave it out", kLongestName));
}

std::string made_name(const std::string& model) {
  std::string name = model;
  std::ranges::replace(name, '.', '-');
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "-%m%d-%H%M%S", &local);
  return name + text;
}

// A new folder: what is there already is left alone.
std::filesystem::path make_run_folder(const std::filesystem::path& below, const std::string& name) {
  std::filesystem::path folder = below / name;
  if (::mkdir(folder.c_str(), 0777) == 0) return folder;
  if (errno == EEXIST)
    throw user_error("there is a run {} already", name).at("name").help("choose another name");
  throw user_error("cannot make the folder of the run: {}", errno_text(errno))
      .at(name)
      .help("check the permissions of the folder that Studio was given");
}

RunOrder stored_order(const FoundRun& run, const StartedRuns& started) {
  const auto text = run.folder.read(kOrderFile, 0, kMostOrderBytes);
  Json fields;
  const bool is_ours = run.path.parent_path() == started.folder() && text &&
                       parse_json(*text, kOrderDepth, fields).empty() && fields.is_object();
  if (!is_ours)
    throw UserError("Studio did not start this run")
        .at(run.name)
        .help("resume it where it was started: tessera train --resume with its options");
  return read_order(fields);
}

bool has_checkpoint(const FoundRun& run) {
  const std::optional<ClosedFolder> folder = run.folder.folder("checkpoints");
  return folder && std::ranges::any_of(folder->names(1000), [](const std::string& name) {
           return name.starts_with("step-");
         });
}

}  // namespace

Answer answer_start(const Question& question) {
  StartedRuns& started = allowed_runs(question);
  Json fields = Json::object();
  for (const JsonMember& member : question.fields.members())
    if (member.name != "name") fields[member.name] = member.value;
  const std::optional<std::string> asked = find_text(question.fields, "name");
  if (asked) check_name(*asked);
  const RunOrder order = read_order(fields);
  const std::string name = asked.value_or(made_name(order.model));
  started.require_room();
  const std::filesystem::path folder = make_run_folder(started.folder(), name);
  write_file_atomically(folder / kOrderFile, order.json().dump() + "\n");
  const std::string id = run_id(folder);
  started.start({.id = id,
                 .folder = folder,
                 .words = order.words(folder, false),
                 .ranks = order.ranks,
                 .supervised = order.supervised});
  return {.json = {{"run", id}, {"name", name}, {"ranks", order.ranks}}};
}

Answer answer_resume(const Question& question) {
  StartedRuns& started = allowed_runs(question);
  require_known_fields(question.fields, {"run"});
  const FoundRun run = asked_run_folder(question, "run");
  const RunOrder order = stored_order(run, started);
  started.require_ended(run.id);
  if (!has_checkpoint(run))
    throw UserError("the run has no checkpoint to resume from")
        .at(run.name)
        .help("start another one");
  started.start({.id = run.id,
                 .folder = run.path,
                 .words = order.words(run.path, true),
                 .ranks = order.ranks,
                 .supervised = order.supervised});
  return {.json = {{"run", run.id}, {"ranks", order.ranks}}};
}

}  // namespace tessera
