// SPDX-License-Identifier: Apache-2.0
#include "ir/parser.h"

#include <gtest/gtest.h>

#include "ir/op_def.h"

namespace tessera {
namespace {

// One class around a few lines, so that a case shows only what it is about. Its first line is the
// third of the text.
std::string in_class(const std::string& lines) {
  return "module m maths\nclass c {\n" + lines + "\n}\n";
}

struct Mistake {
  std::string name;  // a claim
  std::string text;
  std::string message;
  std::string place;
};

class ParserMistake : public testing::TestWithParam<Mistake> {};

TEST_P(ParserMistake, IsNamedWithItsLine) {
  try {
    parse_module(GetParam().text);
    FAIL() << "was read without complaint:\n" << GetParam().text;
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), GetParam().message);
    EXPECT_EQ(error.place(), GetParam().place);
  }
}

const Mistake kMistakes[] = {
    {"AnUnknownOp", in_class("stream %x: fp32[b=2]\n%y = rely(%x)"), "there is no op rely",
     "IR line 4: %y = rely(%x)"},
    {"AnUndefinedValue", in_class("%y = relu(%x)"), "%x is not defined above",
     "IR line 3: %y = relu(%x)"},
    {"AValueUsedBeforeItsLine", in_class("stream %x: fp32[b=2]\n%z = relu(%y)\n%y = relu(%x)"),
     "%y is not defined above", "IR line 4: %z = relu(%y)"},
    {"AValueDefinedTwice", in_class("stream %x: fp32[b=2]\n%y = relu(%x)\n%y = relu(%x)"),
     "%y is defined twice", "IR line 5: %y = relu(%x)"},
    {"AnInputDefinedTwice", in_class("stream %x: fp32[b=2]\nbatch %x: fp32[b=2]"),
     "%x is defined twice", "IR line 4: batch %x: fp32[b=2]"},
    {"TwoResultsOfOneName",
     in_class("stream %x: fp32[b=2, d=4]\nstate %g: fp32[d=4] parameter ones\n"
              "%y, %y = rms_norm(%x, %g)"),
     "%y is defined twice", "IR line 5: %y, %y = rms_norm(%x, %g)"},
    {"AnUnknownDtype", in_class("stream %x: fp16[b=2]"),
     "fp16 is not a dtype: use fp64, fp32, bf16 or int32", "IR line 3: stream %x: fp16[b=2]"},
    {"ADimWithoutSize", in_class("stream %x: fp32[b]"), "expected '=' at column 18",
     "IR line 3: stream %x: fp32[b]"},
    {"AnEmptyDim", in_class("stream %x: fp32[b=0]"), "dim b has size 0: use 1 or more",
     "IR line 3: stream %x: fp32[b=0]"},
    {"ASizeThatIsNoNumber", in_class("stream %x: fp32[b=two]"), "two is not a whole number",
     "IR line 3: stream %x: fp32[b=two]"},
    {"ASizeBeyondCounting", in_class("stream %x: fp32[b=99999999999999999999]"),
     "99999999999999999999 is not a whole number",
     "IR line 3: stream %x: fp32[b=99999999999999999999]"},
    {"TypesThatDoNotFit", in_class("stream %x: fp32[b=2]\nstream %y: fp32[b=3]\n%z = add(%x, %y)"),
     "add: y must be fp32[b=2], is fp32[b=3]", "IR line 5: %z = add(%x, %y)"},
    {"TooFewOperands", in_class("stream %x: fp32[b=2]\n%z = add(%x)"),
     "add: 1 operands given, takes 2", "IR line 4: %z = add(%x)"},
    {"AResultTypeThatIsNotWhatComesOut", in_class("stream %x: fp32[b=2]\n%y: fp32[b=3] = relu(%x)"),
     "%y is fp32[b=2], not fp32[b=3]", "IR line 4: %y: fp32[b=3] = relu(%x)"},
    {"TooManyResults", in_class("stream %x: fp32[b=2]\n%y, %z = relu(%x)"),
     "relu yields 1 results here", "IR line 4: %y, %z = relu(%x)"},
    {"AnUnknownAttribute", in_class("stream %x: fp32[b=2]\n%y = gelu(%x) {aproximation=tanh}"),
     "gelu has no attribute aproximation", "IR line 4: %y = gelu(%x) {aproximation=tanh}"},
    {"AWordTheOpDoesNotKnow", in_class("stream %x: fp32[b=2]\n%y = gelu(%x) {approximation=erf}"),
     "gelu: approximation = erf is not one of none, tanh",
     "IR line 4: %y = gelu(%x) {approximation=erf}"},
    {"AnUnknownPhase", in_class("stream %x: fp32[b=2]\n%y = relu(%x) @backward"),
     "backward is not a phase", "IR line 4: %y = relu(%x) @backward"},
    {"AnUnknownStateRole", in_class("state %w: fp32[d=4] weight zeros"),
     "weight is not a state role", "IR line 3: state %w: fp32[d=4] weight zeros"},
    {"AnUnknownInit", in_class("state %w: fp32[d=4] parameter uniform"),
     "expected zeros, ones, normal(deviation) or of_parameter",
     "IR line 3: state %w: fp32[d=4] parameter uniform"},
    {"AnUnknownKindOfInput", in_class("input %x: fp32[b=2]"), "input begins no statement",
     "IR line 3: input %x: fp32[b=2]"},
    {"AnUnknownKindOfOutput", in_class("stream %x: fp32[b=2]\nreturn result %x"),
     "result is not a kind of output", "IR line 4: return result %x"},
    {"AnUnknownLifetime", in_class("stream %x: fp32[b=2] at heap+0:8"), "heap+0 is not a lifetime",
     "IR line 3: stream %x: fp32[b=2] at heap+0:8"},
    {"AnOffsetThatIsNoNumber", in_class("stream %x: fp32[b=2] at scratch+0x40:8"),
     "0x40 is not an offset", "IR line 3: stream %x: fp32[b=2] at scratch+0x40:8"},
    {"TextLeftOver", in_class("stream %x: fp32[b=2] please"),
     "text left over at the end of the line", "IR line 3: stream %x: fp32[b=2] please"},
    {"AnUnknownForm", "module m draft\n", "draft is not a form: use maths, step, local or planned",
     "IR line 1: module m draft"},
    {"ASecondModuleLine", "module m maths\nmodule n maths\n", "there are two module lines",
     "IR line 2: module n maths"},
    {"NoModuleLine", "class c {\n}\n", "IR has no module line", ""},
    {"AStatementOutsideAClass", "module m maths\n\nstream %x: fp32[b=2]\n",
     "expected module, class or block", "IR line 3: stream %x: fp32[b=2]"},
    {"AClosingBraceOutsideAClass", "module m maths\n}\n", "expected module, class or block",
     "IR line 2: }"},
    {"AClassDefinedTwice", "module m maths\nclass c {\n}\nclass c {\n}\n",
     "class c is defined twice", "IR line 4: class c {"},
    {"AClassLeftOpen", "module m maths\nclass c {\n", "IR ends inside class c", ""},
    {"ABlockOfNoClass", "module m maths\nblock a = c\n", "there is no class c",
     "IR line 2: block a = c"},
};

INSTANTIATE_TEST_SUITE_P(Parser, ParserMistake, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

TEST(Parser, InfersTypesThatAreLeftOut) {
  const Module module =
      parse_module(in_class("stream %x: bf16[b=2, d=4]\nstate %g: bf16[d=4] parameter ones\n"
                            "%y, %rstd = rms_norm(%x, %g)"));
  const Graph& graph = module.classes.front().graph;
  EXPECT_EQ(to_string(graph.value(graph.find_value("y")).type), "bf16[b=2, d=4]");
  EXPECT_EQ(to_string(graph.value(graph.find_value("rstd")).type), "fp32[b=2]");
}

TEST(Parser, FillsInAttributesThatAreLeftOut) {
  const Module module = parse_module(in_class("stream %x: fp32[b=2]\n%y = gelu(%x)"));
  EXPECT_EQ(module.classes.front().graph.node(0).attributes.word("approximation"), "none");
}

TEST(Parser, SkipsCommentsAndBlankLines) {
  const Module module = parse_module(
      "# a module\n\nmodule m maths   # its name\n  class c {  # one class\n\n}\n block a = c\n");
  EXPECT_EQ(module.name, "m");
  EXPECT_EQ(module.blocks.size(), 1u);
}

}  // namespace
}  // namespace tessera
