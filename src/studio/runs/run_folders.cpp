// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/run_folders.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "files/digest.h"
#include "studio/answers.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"

namespace tessera {
namespace {

constexpr size_t kMostRuns = 500, kMostNames = 2000;
constexpr int kDeepest = 2;

bool is_run(const ClosedFolder& folder) {
  return folder.state_of(kMetricsFile) || folder.state_of("run.json") ||
         folder.state_of(kOrderFile);
}

void find_below(ClosedFolder folder, const std::filesystem::path& path, const std::string& name,
                int depth, std::vector<FoundRun>& found) {
  std::vector<std::string> names =
      depth < kDeepest ? folder.names(kMostNames) : std::vector<std::string>();
  std::ranges::sort(names);
  for (const std::string& inner : names) {
    if (found.size() >= kMostRuns) return;
    if (inner == "checkpoints" || inner == "tensorboard") continue;
    if (std::optional<ClosedFolder> next = folder.folder(inner))
      find_below(std::move(*next), path / inner, fmt::format("{}/{}", name, inner), depth + 1,
                 found);
  }
  if (is_run(folder))
    found.push_back({.id = run_id(path), .name = name, .path = path, .folder = std::move(folder)});
}

}  // namespace

std::string run_id(const std::filesystem::path& path) {
  const std::string text = path.string();
  return digest_of(std::as_bytes(std::span(text)));
}

RunFolders::RunFolders(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {
  for (const std::filesystem::path& folder : folders_) ClosedFolder{folder};
}

std::vector<FoundRun> RunFolders::find_all() const {
  std::vector<FoundRun> found;
  for (const std::filesystem::path& folder : folders_) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) continue;  // removed meanwhile
    find_below(ClosedFolder(folder), folder, folder.lexically_normal().string(), 0, found);
  }
  std::ranges::sort(found, {}, &FoundRun::name);
  return found;
}

FoundRun RunFolders::find(std::string_view id) const {
  for (FoundRun& run : find_all())
    if (run.id == id) return std::move(run);
  throw user_error("there is no run {}", id).help("ask for the runs again: its folder may be gone");
}

FoundRun asked_run_folder(const Question& question, std::string_view field) {
  if (!question.runs)
    throw UserError("Studio was started without folders of runs")
        .help("name them: tessera studio out");
  const std::optional<std::string> id = find_text(question.fields, field);
  if (!id)
    throw UserError("the question names no run")
        .at(std::string(field))
        .help("give the id of a run");
  return question.runs->find(*id);
}

}  // namespace tessera
