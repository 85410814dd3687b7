// SPDX-License-Identifier: Apache-2.0
// Which line of the IR each instruction of a program comes from. Sends, receives and their waits
// have the line by which the class takes or returns what is sent.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "files/json.h"
#include "ir/printer.h"
#include "program/program.h"

namespace tessera {

// Where what a line stands for comes from: the line of the model (`source`), the pass that made it,
// and the last that changed it.
void add_origin(Json& json, const Module& module, const PrintedLine& line);

class IrLines {
 public:
  explicit IrLines(const Module& module);

  const Module& module() const { return module_; }
  const std::vector<PrintedLine>& lines() const { return lines_; }
  // A position in lines().
  int line_of(const ProgramClass& program_class, RoutineKind routine,
              const Instruction& instruction) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // class, role, value

  const Module& module_;
  std::vector<PrintedLine> lines_;
  std::map<Key, int> line_;
};

}  // namespace tessera
