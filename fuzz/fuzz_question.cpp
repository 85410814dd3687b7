// SPDX-License-Identifier: Apache-2.0
// Any text as a question of the page: a run that is taken has a step, and its fields print and read
// back to the same command. Nothing is compiled; src/studio/hostile_test.cpp does that.
#include "fuzz_input.h"
#include "studio/asked_run.h"
#include "studio/kinds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string text(text_of(data, size));
  may_refuse([&] {
    const Question question = parse_question(text);
    const AskedRun run = asked_run(question);
    const std::string flags = flags_of(run);
    must(flags_of(asked_run(parse_question(question.fields.dump()))) == flags,
         "a question reads back");
    may_refuse([&] { resolve_on(run.cluster, run.config); });
    run.without([](std::string_view key) { return key.starts_with("plan."); });
  });
  may_refuse([&] { answer_schedule(parse_question(text)); });
  return 0;
}
