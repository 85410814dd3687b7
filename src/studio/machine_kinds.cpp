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
    {"output", "what a run that Studio has started said last, and its failure report",
     answer_output, false, true},
    {"offers", "models and meshes that can be trained on this machine (--allow-runs)",
     answer_offers, false, true},
    {"start", "starts a run on this machine (--allow-runs)", answer_start, false, true},
    {"resume", "continues a run that Studio has started (--allow-runs)", answer_resume, false,
     true},
    {"stop", "asks a run that Studio has started to save and stop (--allow-runs)", answer_stop,
     false, true},
    {"kill", "kills one rank of a run that Studio has started (--allow-runs)", answer_kill, false,
     true},
    {"generate", "text that a run's newest checkpoint writes, token by token (--allow-runs)",
     answer_generate, true, true},
    {"chat", "what a run's newest checkpoint answers in a conversation (--allow-runs)", answer_chat,
     true, true},
});

}  // namespace

std::span<const QuestionKind> machine_kinds() { return kMachineKinds; }

}  // namespace tessera
