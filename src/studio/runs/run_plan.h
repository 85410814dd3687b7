// SPDX-License-Identifier: Apache-2.0
// The plan of a run in a folder as a question would name it, and the cluster to simulate it on.
// What the folder holds may have been written by anybody: no file is opened but those in it.
#pragma once

#include <string>

#include "studio/asked_run.h"
#include "studio/runs/run_folders.h"

namespace tessera {

struct RunPlan {
  Json run;             // a question's field "run": model, cluster, set
  AskedRun asked;       // the same, read back
  std::string cluster;  // where its figures are from: "laptop, built in", "cluster.toml of the run"
  std::string trace;    // the name of the file that a trace would have
};

// The built-in cluster whose figures suit a run best: the laptop for threads of a CPU, of GPUs
// those whose name the device has, else the first that are enough.
std::string fitting_cluster(const Config& config, const std::string& device);

// A UserError where the folder has no config, or one that a question cannot ask for.
RunPlan plan_of(const FoundRun& run);

}  // namespace tessera
