// SPDX-License-Identifier: Apache-2.0
// Questions that need a machine, since they run kernels or read files: WebAssembly has none of
// them.
#include <array>

#include "studio/kinds.h"

namespace tessera {
namespace {

constexpr auto kMachineKinds = std::to_array<QuestionKind>({
    {"verify", "the plan, run on a small model and compared with one rank", answer_verify, true,
     true},
    {"collectives", "what each collective does to a small tensor", answer_collectives, false, true},
    {"model_source", "the text of a file in which models are written", answer_model_source, false,
     true},
    {"break", "a lesson's program with a mistake in it, and who notices", answer_break, false,
     true},
    {"runs", "the runs in the folders that Studio was given", answer_runs, false, true},
    {"history", "all steps of a run, as columns of least and largest values", answer_history, false,
     true},
    {"ranks", "seconds of every rank over the steps of a run, as columns", answer_ranks, false,
     true},
    {"follow", "lines of a run's metrics and events as they are written", answer_follow, true,
     true},
    {"report", "where the time of a run went, and what to try", answer_report, false, true},
    {"compare", "what differs between two runs, and why one is slower", answer_compare, false,
     true},
    {"clocks", "a step of a run beside its simulation, by instruction, largest differences first",
     answer_clocks, false, true},
});

}  // namespace

std::span<const QuestionKind> machine_kinds() { return kMachineKinds; }

}  // namespace tessera
