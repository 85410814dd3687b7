// SPDX-License-Identifier: Apache-2.0
// The step that a config asks for, with the config's words turned into values: what the compiler
// and the executors take. resolve() is the only way from a config to it.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "core/device_kind.h"
#include "core/precision.h"
#include "ir/optimizer.h"
#include "mesh/plan.h"
#include "models/model_config.h"

namespace tessera {

struct RunSpec {
  ModelConfig model;
  std::shared_ptr<const OwnModel> own_model = {};  // that the model points at, if it is one
  Precision precision = DType::Fp32;
  BatchShape microbatch = {};  // over all ranks
  int microbatches = 1;
  OptimizerOptions optimizer = {};
  Plan plan = {};  // by default there is one rank
  DeviceKind device = DeviceKind::Cpu;
  int threads = 1;           // of this machine, shared by its ranks
  int64_t memory_bytes = 0;  // of a rank; 0: not known
  bool snapshots = false;    // for checkpoints, in the memory of the ranks
  bool repeatable = true;    // else bits of a GPU's attention gradients differ from run to run

  int64_t batch() const { return microbatch.batch * microbatches; }
  int64_t seq() const { return microbatch.seq; }
  int64_t tokens_per_step() const;  // rows for an mlp
  int threads_per_rank() const;     // that compute; a GPU's rank has one that enqueues
};

// Throws a UserError where the config's parts do not fit together.
RunSpec resolve(const Config& config);
// The same for a small model of the family that the plan fits as it fits the config's: a plan for
// 64 ranks can then be verified on a laptop.
RunSpec resolve_shrunk(const Config& config);

// Parts of resolve, for callers that need only these: the rest of the config may be invalid.
ModelConfig resolve_model(const Config& config);
Precision resolve_precision(const Config& config);
int resolve_zero(const Config& config);     // plan.zero, with auto decided by the mesh
int resolve_threads(const Config& config);  // train.threads, or one for each core it may use

// The config on another mesh. Without axes, [plan] is reset, except for recomputation.
Config with_mesh(Config config, const std::vector<Axis>& mesh);

// A small model of the same shape family, with a batch to match, that a plan fits as it fits the
// large one: so that a plan for 64 ranks can be proved on a laptop.
struct ShrunkModel {
  ModelConfig model;
  BatchShape microbatch;
};

ShrunkModel shrink_model(const ModelConfig& model, const Plan& plan);

// A config's model in a few words, for headings.
// "llama3-8b", or with what is set over the preset: "llama3-8b with layers=4 (1.92B parameters)".
std::string model_title(const Config& config);

}  // namespace tessera
