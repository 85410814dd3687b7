// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ir/parser.h"

namespace tessera {
namespace {

const char* const kScale = R"(module scale maths
class first {
  batch %x: fp32[batch=2, d=4]
  state %bias: fp32[d=4] parameter zeros
  %y = accumulate(%x)
  %z = bias_add(%y, %bias)
  %out = accumulate(%z)
  return stream %out
}
class head {
  stream %prediction: fp32[batch=2, d=4]
  batch %target: fp32[batch=2, d=4]
  step %label_count: fp64[]
  %count = count_labels(%target) @begin
  %loss = squared_loss(%prediction, %target, %label_count)
  return step label_count %count accumulate
  return step loss %loss accumulate
}
block first = first
block head = head
)";

TEST(Program, PrintsRoutinesAndScripts) {
  const Program program = compile(parse_module(kScale), {.training = false}).program();
  const std::string text = print(program);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "  routine first.forward\n"
            "    accumulate x:window -> y:scratch\n"
            "    bias_add y:scratch, bias:persistent -> z:scratch\n"
            "    accumulate z:scratch -> out:slot\n"
            "  routine first.evaluate\n"
            "    accumulate x:window -> y:scratch\n"
            "    bias_add y:scratch, bias:persistent -> z:scratch\n"
            "    accumulate z:scratch -> out:slot\n"
            "  routine head.begin\n"
            "    count_labels target:window -> count:window (accumulates)\n"
            "  routine head.forward\n"
            "    squared_loss prediction:slot, target:window, label_count:window -> loss:window "
            "(accumulates) workspace 8\n"
            "  routine head.evaluate\n"
            "    squared_loss prediction:slot, target:window, label_count:window -> loss:window "
            "(accumulates) workspace 8\n"
            "  script evaluate\n"
            "    begin head microbatch 0 first last\n"
            "    evaluate first microbatch 0 first last\n"
            "    evaluate head microbatch 0 first last\n");
}

TEST(Program, ABufferDiesAfterItsLastReaderAndNotWhenItIsTakenOver) {
  const Program program = compile(parse_module(kScale), {.training = false}).program();
  const ProgramClass& first = program.classes.front();
  const std::vector<Instruction>& forward = first.routine(RoutineKind::Forward);
  const auto dead = [&](size_t i) {
    std::vector<std::string> names;
    for (const int buffer : forward[i].dead_after)
      names.push_back(first.buffers[static_cast<size_t>(buffer)].name);
    return names;
  };
  EXPECT_EQ(dead(0), std::vector<std::string>{});
  EXPECT_EQ(dead(1), std::vector<std::string>{});  // %z lies where %y was
  EXPECT_EQ(dead(2), std::vector<std::string>{"z"});
}

TEST(Program, FindsNothingByAnUnknownName) {
  const Program program = compile(parse_module(kScale), {.training = false}).program();
  EXPECT_NE(program.find_state("first.bias"), nullptr);
  EXPECT_EQ(program.find_state("bias"), nullptr);
  EXPECT_NE(program.find_batch_input("x"), nullptr);
  EXPECT_EQ(program.find_batch_input("prediction"), nullptr);
  EXPECT_NE(program.find_step_value("loss"), nullptr);
  EXPECT_EQ(program.find_step_value("norm_squares"), nullptr);
}

}  // namespace
}  // namespace tessera
