// SPDX-License-Identifier: Apache-2.0
// What a plan chooses beside its mesh, as a table: one row for each knob. Candidates are written,
// read, enumerated, fixed by the user and turned into keys of a config by it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/candidate.h"

namespace tessera {

// When the search chooses it: with the sequence's split, with the experts' split, or at last.
enum class KnobScope : uint8_t { Sequence, Experts, Step };

struct Knob {
  std::string_view name;  // as in "zero=1"
  std::string_view key;   // of a config
  // Values to try, as a candidate's text has them. Empty: its usual one alone, or those that the
  // search comes to where plans do not fit.
  std::vector<std::string> (*values)(const PlanTask&, const Candidate&) = nullptr;
  std::string (*get)(const Candidate&) = nullptr;
  void (*set)(Candidate&, std::string_view text) = nullptr;  // throws a UserError
  std::string_view usual = {};                               // left out of a candidate's text
  // Where it does not matter, candidates have its usual value, whatever a user fixes.
  bool (*matters)(const Candidate&) = nullptr;  // null: always
  KnobScope scope = KnobScope::Step;
  bool complete = false;  // other values than those to try make no sense, even where a user asks
  // As the config has it; null: as the candidate's text.
  std::string (*setting)(const PlanTask&, const Candidate&) = nullptr;
  // The text for a value of the config that a user fixes; null: that value.
  std::string (*from_setting)(const PlanTask&, const Candidate&, const std::string&) = nullptr;

  bool matters_to(const Candidate& candidate) const { return !matters || matters(candidate); }
  std::string setting_of(const PlanTask& task, const Candidate& candidate) const {
    return setting ? setting(task, candidate) : get(candidate);
  }
  // The value that the user fixed, else those to try.
  std::vector<std::string> values_for(const PlanTask& task, const Candidate& candidate) const;
};

// In the order in which they are tried: the values of one may depend on those before it.
std::span<const Knob> knobs();
const Knob* find_knob(std::string_view name);

}  // namespace tessera
