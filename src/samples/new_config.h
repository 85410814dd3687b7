// SPDX-License-Identifier: Apache-2.0
// A config of one's own, made from a sample: the answers and the planner's choices take the place
// of its values, and what still holds of its comments stays. On the sample's own model and machine
// it is the sample.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/search.h"
#include "samples/sample_jobs.h"
#include "studio/simulated_step.h"

namespace tessera {

struct ConfigOrder {
  SampleJob job;
  std::string cluster = {};                // a name or a file; empty: the sample's
  int ranks = 0;                           // 0: the sample's
  std::vector<std::string> settings = {};  // "data.path=books/": what was answered
  std::string weights = {};                // that the job begins from; empty: not said
  std::string file = {};                   // that will hold it, for the commands
};

struct NewConfig {
  std::string text;
  SimulatedStep step;                 // predicted
  std::vector<std::string> commands;  // what to run next
};

// Throws a UserError where the answers do not fit together or nothing fits the machine.
NewConfig new_config(const ConfigOrder& order,
                     const std::function<SearchResult(const PlanTask&)>& search);

}  // namespace tessera
