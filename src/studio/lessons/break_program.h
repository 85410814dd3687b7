// SPDX-License-Identifier: Apache-2.0
// How lessons and tests break a program: they find instructions and calls by what they do, and
// change them. A search that finds nothing throws NothingToBreak, so that no mutant is empty.
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

// The n-th kernel of an op, or the n-th collective, in a routine.
KernelInstruction& find_kernel(Program& program, std::string_view class_name, RoutineKind routine,
                               OpKind op, int n = 0);
CollectiveInstruction& find_collective(Program& program, std::string_view class_name,
                                       RoutineKind routine, CollectiveOp op, int n = 0);
int count_collectives(Program& program, std::string_view class_name, RoutineKind routine,
                      CollectiveOp op);

// The group of these axes; it is added where the program has none.
GroupId group_over(Program& program, const AxisIds& axes);
// Ranks of that collective no longer communicate: each goes on with its own part, which an
// all_gather repeats at the place of every other rank.
void leave_out(Program& program, std::string_view class_name, RoutineKind routine, CollectiveOp op,
               int n = 0);
// The same of the first whose input is a buffer of that name.
void leave_out_on(Program& program, std::string_view class_name, RoutineKind routine,
                  CollectiveOp op, std::string_view input);
// All kernels, or collectives, of that name.
void remove(Program& program, std::string_view class_name, RoutineKind routine,
            std::string_view instruction_name);

const TensorType& type_of(const Program& program, std::string_view class_name, int buffer);
int buffer_of(const Program& program, std::string_view class_name, std::string_view buffer);
// A buffer of the class that holds the rank's index along other axes.
int add_rank_value(Program& program, std::string_view class_name, const AxisIds& axes);

std::vector<ScriptCall>& calls_of(Program& program);  // of train_step
// The calls of a routine for one microbatch; of every block.
std::vector<ScriptCall*> find_calls(Program& program, RoutineKind routine, int microbatch);

// Whether the accumulator writes of those calls add.
void set_flags(Program& program, RoutineKind routine, int microbatch, bool value);
void drop_calls(Program& program, RoutineKind routine, int microbatch);
// The first call of one routine and microbatch goes after the first of another.
void move_after(Program& program, RoutineKind routine, int microbatch, RoutineKind other,
                int other_microbatch);

// Of the first share of the norm whose scale is such.
void change_scale(Program& program, std::string_view class_name, bool (*such)(double),
                  double scale);

}  // namespace tessera
