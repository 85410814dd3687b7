// SPDX-License-Identifier: Apache-2.0
// A program made by hand: its batch input goes to the host's memory and comes back as its output.
#pragma once

#include "program/program.h"

namespace tessera {

struct CopyProgram {
  static constexpr int kInput = 0, kOnHost = 1, kOutput = 2;  // buffers

  Program program;

  CopyProgram() {
    const TensorType type{DType::Fp32, {{"batch", 3}, {"d", 5}}};
    program.name = "copies";
    program.classes.push_back({.name = "only", .buffers = {}, .routines = {}});
    only().buffers = {
        {.name = "x", .type = type, .lifetime = Lifetime::Window},
        {.name = "stored", .type = type, .lifetime = Lifetime::Slot, .space = MemorySpace::Host},
        {.name = "y", .type = type, .lifetime = Lifetime::Slot}};
    program.blocks.push_back({.name = "only",
                              .offsets = {64, 128, 0},
                              .repeats = {Repeat::Once, Repeat::Once, Repeat::Once}});
    forward() = {{.what = CopyInstruction{.input = kInput, .output = kOnHost}},
                 {.what = CopyInstruction{.input = kOnHost, .output = kOutput}}};
    program.scripts.push_back(
        {.name = "evaluate", .calls = {{.routine = RoutineKind::Forward, .accumulate = {}}}});
    program.batch_inputs = {{.name = "x", .type = type, .offset = 64, .whole = type}};
    program.output = {.name = "y", .type = type, .whole = type};
    program.window_bytes = 64 + type.bytes();
    program.slot_bytes = type.bytes();
    program.host_slot_bytes = 128 + type.bytes();
  }

  ProgramClass& only() { return program.classes.front(); }
  std::vector<Instruction>& forward() { return only().routine(RoutineKind::Forward); }
};

}  // namespace tessera
