// SPDX-License-Identifier: Apache-2.0
// How tests break a program: they find instructions and calls by what they do, and change them. A
// search that finds nothing throws NothingToBreak, so that no mutant is empty.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "program/program.h"

namespace tessera {

struct NothingToBreak : std::logic_error {
  using std::logic_error::logic_error;
};

// One routine of a class, by the class's name.
std::vector<Instruction>& routine_of(Program& program, std::string_view class_name,
                                     RoutineKind routine);

// The n-th instruction of an op in a routine.
Instruction& find_op(Program& program, std::string_view class_name, RoutineKind routine, OpKind op,
                     int n = 0);
// The same, whose first operand is a buffer of that name.
Instruction& find_op_on(Program& program, std::string_view class_name, RoutineKind routine,
                        OpKind op, std::string_view operand);

// Ranks no longer talk: each goes on with its own part.
void leave_out(Instruction& collective);
void remove(Program& program, std::string_view class_name, RoutineKind routine, OpKind op);

int buffer_of(const Program& program, std::string_view class_name, std::string_view buffer);
// A buffer of the class that holds the rank's index along other axes.
int add_rank_value(Program& program, std::string_view class_name, const AxisIds& axes);

std::vector<ScriptCall>& calls_of(Program& program);  // of train_step
// The calls of a routine for one microbatch; of every block.
std::vector<ScriptCall*> find_calls(Program& program, RoutineKind routine, int microbatch);

}  // namespace tessera
