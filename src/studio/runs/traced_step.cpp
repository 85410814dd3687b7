// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/traced_step.h"

#include <algorithm>

#include "core/error.h"
#include "studio/runs/run_files.h"

namespace tessera {
namespace {

constexpr int64_t kMostTraceBytes = int64_t{1} << 30;
constexpr size_t kMostAligned = 4'000'000, kMostTracedSteps = 10'000;

void require_trace(const FoundRun& run, const std::string& file) {
  const std::optional<FileState> state = run.folder.state_of(file);
  if (!state)
    throw user_error("the run has no trace")
        .at(run.name)
        .help(fmt::format("train with --trace {}, which records the first steps",
                          (run.path / file).string()));
  if (state->bytes > kMostTraceBytes)
    throw user_error("{} of the run is larger than 1 GB", file)
        .at(run.name)
        .help("trace fewer steps: --set run.trace_steps=1");
}

class Alignment {
 public:
  Alignment(const std::vector<Program>& programs, std::optional<int64_t> wanted)
      : programs_(programs), wanted_(wanted) {}

  // False: no more are taken.
  bool add(const TracedSlice& slice) {
    if (slice.step == 0) {
      ++step_.outside;
      return true;
    }
    if (step_.steps.size() < kMostTracedSteps) step_.steps.insert(slice.step);
    if (wanted_ ? slice.step != *wanted_ : slice.step < step_.step) return true;
    if (slice.step > step_.step) begin_step(slice.step);
    if (const std::optional<AlignedSlice> aligned = align(slice))
      step_.slices.push_back(*aligned);
    else
      ++step_.unknown;
    return step_.slices.size() < kMostAligned;
  }

  TracedStep take() {
    for (const AlignedSlice& slice : step_.slices) {
      const bool first = &slice == &step_.slices.front();
      step_.begin_seconds =
          first ? slice.begin_seconds : std::min(step_.begin_seconds, slice.begin_seconds);
      step_.end_seconds = std::max(step_.end_seconds, slice.end_seconds);
    }
    return std::move(step_);
  }

 private:
  // Ranks follow one another in the file: what was read of an earlier step is dropped.
  void begin_step(int64_t number) {
    step_.step = number;
    step_.slices.clear();
    step_.unknown = 0;
  }

  // By the place in the script; the names must agree, or it is another program's.
  std::optional<AlignedSlice> align(const TracedSlice& slice) const {
    if (slice.rank >= programs_.front().mesh.num_ranks()) return {};
    const auto rank = static_cast<int>(slice.rank);
    const Program& program = programs_[program_of_rank(programs_, rank)];
    const std::vector<ScriptCall>& calls = program.script("train_step").calls;
    if (slice.call >= static_cast<int64_t>(calls.size())) return {};
    const ScriptCall& call = calls[static_cast<size_t>(slice.call)];
    const ProgramBlock& block = program.blocks[static_cast<size_t>(call.block)];
    const ProgramClass& program_class = program.class_of(block);
    const std::vector<Instruction>& routine = program_class.routine(call.routine);
    if (slice.index >= static_cast<int64_t>(routine.size()) || slice.block != block.name ||
        slice.routine != name(call.routine) || slice.program_class != program_class.name ||
        slice.microbatch != call.microbatch)
      return {};
    return AlignedSlice{.rank = rank,
                        .call = &call,
                        .instruction = &routine[static_cast<size_t>(slice.index)],
                        .transfers = slice.transfers,
                        .begin_seconds = slice.begin_seconds,
                        .end_seconds = slice.end_seconds};
  }

  const std::vector<Program>& programs_;
  std::optional<int64_t> wanted_;
  TracedStep step_;
};

}  // namespace

size_t program_of_rank(const std::vector<Program>& programs, int rank) {
  return static_cast<size_t>(&at_place(programs, rank) - programs.data());
}

TracedStep read_traced_step(const FoundRun& run, const std::string& file,
                            const std::vector<Program>& programs,
                            std::optional<int64_t> wanted_step) {
  require_trace(run, file);
  Alignment alignment(programs, wanted_step);
  read_lines(run.folder, file, 0, [&](std::string_view line) {
    const std::optional<TracedSlice> slice = parse_trace_line(line);
    return !slice || alignment.add(*slice);
  });
  TracedStep step = alignment.take();
  if (step.slices.empty())
    throw user_error(
        "no slice of {} is an instruction of the run's program{}", file,
        wanted_step && !step.steps.empty() ? fmt::format(" in step {}", *wanted_step) : "")
        .at(run.name)
        .help(
            "it may be of another version of tessera or of other settings: train again with "
            "--trace");
  return step;
}

}  // namespace tessera
