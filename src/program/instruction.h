// SPDX-License-Identifier: Apache-2.0
// One thing that a rank does. Buffers are numbers of the block class, groups of the Program.
// `reads`, `writes` and the other questions below hold for every kind, so that who follows memory
// needs no cases.
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

// Among the ranks of a group. A group of one copies its input. Async: a wait for the output ends
// it.
struct CollectiveInstruction {
  CollectiveOp op = CollectiveOp::AllReduce;
  GroupId group = 0;
  Reduction reduction = Reduction::Sum;
  int split = kNone, join = kNone;  // dims of the input that are cut apart, and put together
  bool async = false;
  int input = kNone, output = kNone;
};

// To and from another stage, over the channel that the script call names. A wait for the buffer
// ends it.
struct SendInstruction {
  int buffer = kNone;
};
struct ReceiveInstruction {
  int buffer = kNone;
};

// Until what was started is done. `output` is the same memory as the buffer that is waited for.
struct WaitInstruction {
  std::vector<int> held =
      {};  // what was started fills or sends; then, if it matters, what it reads
  int output = kNone;
};

// Between buffers of the same bytes, in any memory spaces.
struct CopyInstruction {
  int input = kNone, output = kNone;
};

struct ElementRange {
  int64_t begin = 0, end = 0;
  bool operator==(const ElementRange&) const = default;
};

// The input with zeros in these ranges, which need not have been written before.
struct ClearInstruction {
  int input = kNone, output = kNone;
  std::vector<ElementRange> ranges = {};
};

struct Instruction {
  std::variant<KernelInstruction, CollectiveInstruction, SendInstruction, ReceiveInstruction,
               WaitInstruction, CopyInstruction, ClearInstruction>
      what;
  Phase phase = Phase::Forward;
  // Of a kernel: results, by index, that the first writer of a step writes and later ones add into.
  std::vector<int> accumulators = {};
  int64_t workspace_offset = 0, workspace_bytes = 0;  // of a kernel, in scratch
  std::vector<int> dead_after = {};  // scratch buffers that nobody reads from here on

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
// Goes on beside what follows, until a wait.
bool is_started(const Instruction& instruction);
// The buffer by which a wait finds what the instruction starts.
int awaited_buffer(const Instruction& instruction);

}  // namespace tessera
