// SPDX-License-Identifier: Apache-2.0
// One thing that a rank does. Buffers are indices into the block class, groups into the Program.
// `reads`, `writes` and the other functions below answer for every kind, so that code that follows
// memory or time needs no cases.
#pragma once

#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/reduction.h"
#include "ir/graph.h"
#include "program/collective_op.h"

namespace tessera {

using GroupId = int;  // position in Program::groups

struct KernelInstruction {
  OpKind op;
  Attributes attributes = {};
  std::vector<int> operands = {}, results = {};
};

// Among the ranks of a group; a group of one copies its input. With `async` it runs until a wait
// for its output.
struct CollectiveInstruction {
  CollectiveOp op = CollectiveOp::AllReduce;
  GroupId group = 0;
  Reduction reduction = Reduction::Sum;
  int split = kNone,
      join = kNone;  // the dim of the input that is split, and the one that is concatenated
  bool async = false;
  int input = kNone, output = kNone;
  // Of put_rows and take_rows: the input, and where each rank's rows of each expert end.
  std::vector<int> with_ends = {};
  int64_t most_rows = 0;  // of these, that one rank can have for another; 0: not known
};

// To and from another stage, over the channel that the script call names. They run until a wait for
// the buffer.
struct SendInstruction {
  int buffer = kNone;
};
struct ReceiveInstruction {
  int buffer = kNone;
};

// Waits until what was started is done. `output` is the same memory as the buffer that is waited
// for.
struct WaitInstruction {
  std::vector<int> held =
      {};  // what was started fills or sends; then, if it matters, what it reads
  int output = kNone;
};

// Between buffers of equal size, in any memory spaces. With `async` it runs until a wait for its
// output.
struct CopyInstruction {
  int input = kNone, output = kNone;
  bool async = false;
};

struct ElementRange {
  int64_t begin = 0, end = 0;
  bool operator==(const ElementRange&) const = default;
};

// Sets these ranges of the input to zero; they need not have been written before.
struct ClearInstruction {
  int input = kNone, output = kNone;
  std::vector<ElementRange> ranges = {};
};

struct Instruction {
  std::variant<KernelInstruction, CollectiveInstruction, SendInstruction, ReceiveInstruction,
               WaitInstruction, CopyInstruction, ClearInstruction>
      what;
  Phase phase = Phase::Forward;
  // Of a kernel: the indices of results that the first call of a step writes and later ones add to.
  std::vector<int> accumulators = {};
  int64_t workspace_offset = 0, workspace_bytes = 0;  // of a kernel, in scratch
  std::vector<int> dead_after = {};  // scratch buffers that no later instruction reads

  template <typename Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&what);
  }
  template <typename Kind>
  Kind* as() {
    return std::get_if<Kind>(&what);
  }
};

std::span<const int> reads(const Instruction& instruction);
std::span<const int> writes(const Instruction& instruction);
std::string_view name(const Instruction& instruction);  // "matmul", "all_gather", "wait"

bool communicates(const Instruction& instruction);  // a collective, send or receive
// Whether it runs beside later instructions, until a wait.
bool is_started(const Instruction& instruction);
// The buffer by which a wait finds what the instruction starts.
int awaited_buffer(const Instruction& instruction);

}  // namespace tessera
