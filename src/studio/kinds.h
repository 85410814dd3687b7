// SPDX-License-Identifier: Apache-2.0
// What answers each kind of question, one file per kind; the tables of answers.cpp and
// machine_kinds.cpp name them.
#pragma once

#include "studio/answers.h"

namespace tessera {

std::span<const QuestionKind> machine_kinds();  // those that need files or kernels

Answer answer_keys(const Question& question);
Answer answer_presets(const Question& question);
Answer answer_clusters(const Question& question);
Answer answer_try(const Question& question);
Answer answer_slices(const Question& question);
Answer answer_schedule(const Question& question);
Answer answer_neighbours(const Question& question);
Answer answer_search(const Question& question);
Answer answer_why_not(const Question& question);
Answer answer_ir(const Question& question);
Answer answer_program(const Question& question);
Answer answer_placements(const Question& question);
Answer answer_memory_at(const Question& question);
Answer answer_verify(const Question& question);
Answer answer_model_source(const Question& question);
Answer answer_collectives(const Question& question);
Answer answer_runs(const Question& question);
Answer answer_history(const Question& question);
Answer answer_follow(const Question& question);
Answer answer_report(const Question& question);
Answer answer_compare(const Question& question);
Answer answer_clocks(const Question& question);
Answer answer_ranks(const Question& question);
Answer answer_offers(const Question& question);
Answer answer_start(const Question& question);
Answer answer_resume(const Question& question);
Answer answer_stop(const Question& question);
Answer answer_kill(const Question& question);
Answer answer_output(const Question& question);
Answer answer_generate(const Question& question);
Answer answer_chat(const Question& question);
Answer answer_lessons(const Question& question);
Answer answer_lesson(const Question& question);
Answer answer_break(const Question& question);

}  // namespace tessera
