// SPDX-License-Identifier: Apache-2.0
// The question `ranks`: seconds of every rank over the steps of a run, as a table of rows and parts
// of the steps. Each cell is the line in which its row was furthest above the median, so that a
// slow moment among thousands stays visible. `follow` goes on from the byte where it ends.
#include <algorithm>

#include "record/rank_lines.h"
#include "studio/columns.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"

namespace tessera {
namespace {

constexpr int64_t kMostRankParts = 400, kMostRankLines = 200'000;

double median_compute(const RankLine& line) {
  std::vector<double> seconds = line.compute_seconds;
  std::ranges::sort(seconds);
  return (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
}

// By step, of the ranks that the run has now; of steps that were done again, the last.
std::vector<RankLine> present_lines(std::vector<RankLine> lines) {
  std::vector<RankLine> kept;
  for (RankLine& line : lines) {
    if (line.ranks != lines.back().ranks || line.rank.size() != lines.back().rank.size()) continue;
    while (!kept.empty() && kept.back().step >= line.step) kept.pop_back();
    kept.push_back(line);
  }
  return kept;
}

struct RankCells {
  std::vector<float> over, compute, waiting;
  std::vector<uint32_t> rank, step;
};

// Of a part of the lines, by row the one that is furthest above its line's median.
void add_part(std::span<const RankLine> lines, RankCells& cells) {
  std::vector<double> medians;
  for (const RankLine& line : lines) medians.push_back(std::max(1e-12, median_compute(line)));
  for (size_t row = 0; row < lines.front().rank.size(); ++row) {
    size_t worst = 0;
    for (size_t i = 1; i < lines.size(); ++i)
      if (lines[i].compute_seconds[row] / medians[i] >
          lines[worst].compute_seconds[row] / medians[worst])
        worst = i;
    const RankLine& line = lines[worst];
    cells.over.push_back(static_cast<float>(line.compute_seconds[row] / medians[worst] - 1));
    cells.compute.push_back(static_cast<float>(line.compute_seconds[row]));
    cells.waiting.push_back(
        static_cast<float>(line.exposed_communication_seconds[row] + line.bubble_seconds[row]));
    cells.rank.push_back(static_cast<uint32_t>(line.rank[row]));
  }
  cells.step.push_back(static_cast<uint32_t>(lines.back().step));
}

}  // namespace

Answer answer_ranks(const Question& question) {
  require_known_fields(question.fields, {"run", "parts"});
  const FoundRun run = asked_run_folder(question, "run");
  const auto most = static_cast<size_t>(
      find_whole(question.fields, "parts", {1, kMostRankParts}).value_or(kMostRankParts));
  std::vector<RankLine> lines;
  int64_t left_out = 0;
  const std::optional<FileState> file = run.folder.state_of(kRanksFile);
  const int64_t end = read_lines(run.folder, kRanksFile, 0, [&](std::string_view text) {
    if (std::optional<RankLine> line = parse_rank_line(text))
      lines.push_back(std::move(*line));
    else
      ++left_out;
    return static_cast<int64_t>(lines.size()) < kMostRankLines;
  });
  const auto read = static_cast<int64_t>(lines.size());
  lines = present_lines(std::move(lines));
  RankCells cells;
  const size_t parts = std::min(lines.size(), most);
  for (size_t part = 0; part < parts; ++part) {
    const size_t begin = part * lines.size() / parts, stop = (part + 1) * lines.size() / parts;
    add_part(std::span(lines).subspan(begin, stop - begin), cells);
  }
  Columns columns;
  columns.add("step", cells.step);
  columns.add("rank", cells.rank);
  columns.add("over", cells.over);
  columns.add("compute_seconds", cells.compute);
  columns.add("waiting_seconds", cells.waiting);
  return {.json = {{"run", run.id},
                   {"ranks", lines.empty() ? 0 : lines.back().ranks},
                   {"rows", lines.empty() ? 0 : lines.back().rank.size()},
                   {"parts", parts},
                   {"lines", lines.size()},
                   {"lines_left_out", left_out + read - static_cast<int64_t>(lines.size())},
                   {"next",
                    Json{{"ranks", end}, {"ranks_file", std::to_string(file ? file->number : 0)}}},
                   {"columns", columns.list}},
          .columns = columns.bytes};
}

}  // namespace tessera
