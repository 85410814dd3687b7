// SPDX-License-Identifier: Apache-2.0
// What `tessera compile --json` says of a compiled step: passes, bytes by kind, collectives,
// stages.
#pragma once

#include <string>

#include "compiler/compile.h"
#include "files/json.h"

namespace tessera {

// The program of the pipeline rank that needs the most memory.
const Program& largest_program(const std::vector<Program>& programs);
// "0: embedding..layer.3; 4: layer.16..layer.19": blocks by stage.
std::string blocks_text(const Program& program);

Json bytes_json(const Program& program);
Json collectives_json(const Program& program);
Json pipeline_json(const PassPipeline& pipeline);

// `snapshot`: bytes that checkpoints take beside the step.
Json to_json(const Compiled& compiled, int64_t parameters, int64_t snapshot);

}  // namespace tessera
