// SPDX-License-Identifier: Apache-2.0
// Runs a chat template: its syntax tree with the variables that it reads gives a text. Nothing of
// the machine is within its reach but the date.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "chat/jinja_budget.h"
#include "chat/jinja_syntax.h"

namespace tessera {

struct JinjaOutput {
  std::string text;
  // What {% generation %} encloses: begin and end in the text.
  std::vector<std::pair<size_t, size_t>> generated;
};

// `now` is what strftime_now shows.
JinjaOutput run_jinja(const JinjaBody& body, std::vector<JinjaMember> variables, const std::tm& now,
                      JinjaBudget& budget);

}  // namespace tessera
