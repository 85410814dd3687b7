// SPDX-License-Identifier: Apache-2.0
// The room of experts' pools in a run. A script whose experts needed more than there is has changed
// nothing: the step is compiled with more room, states stay where they are, and the script is run
// again. All ranks see the same need, so all of them do the same.
#pragma once

#include "exec/executor.h"
#include "record/run_facts.h"
#include "train/run_outputs.h"
#include "train/run_saver.h"

namespace tessera {

// Room for `need` times the rows of pools that have this room, and a tenth more; in sixteenths.
double room_for_need(double room, double need);

class ExpertRoom {
 public:
  // All of them must outlive it.
  ExpertRoom(const Config& config, const RunFacts& facts, Executor& executor, RunSaver& saver,
             RunOutputs& outputs);

  // Whether the script that ran last, of this step, needed more room: it has to be run again, from
  // its batch on.
  bool grow(int64_t step);

 private:
  void replace_programs(double need);

  Config config_;  // with the room of now
  const RunFacts& facts_;
  Executor& executor_;
  RunSaver& saver_;
  RunOutputs& outputs_;
  double room_;
  int repeats_ = 0;  // in this run
};

}  // namespace tessera
