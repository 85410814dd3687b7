// SPDX-License-Identifier: Apache-2.0
#include "studio/compiled_step.h"

#include <algorithm>

#include "program/collective_table.h"
#include "program/pool_room.h"

namespace tessera {

const Program& largest_program(const std::vector<Program>& programs) {
  return *std::max_element(
      programs.begin(), programs.end(),
      [](const Program& a, const Program& b) { return a.peak_bytes() < b.peak_bytes(); });
}

std::string blocks_text(const Program& program) {
  std::string text;
  int stage = kNone;
  const ProgramBlock* last = nullptr;
  const auto close = [&] {
    if (last && !text.ends_with(last->name)) text += ".." + last->name;
  };
  for (const ProgramBlock& block : program.blocks) {
    if (block.stage == kNone || block.name == "totals") continue;
    if (block.stage != stage) {
      close();
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", block.stage, block.name);
      stage = block.stage;
    }
    last = &block;
  }
  close();
  return text;
}

Json bytes_json(const Program& program) {
  Json json;
  for (int kind = 0; kind < kNumBufferKinds; ++kind)
    json[name(static_cast<BufferKind>(kind))] = program.bytes_by_kind[static_cast<size_t>(kind)];
  return json;
}

Json collectives_json(const Program& program) {
  Json json = Json::array();
  for (const CollectiveRow& row : collective_table(program, program.script("train_step")))
    json.push_back({{"routine", name(row.routine)},
                    {"op", row.op},
                    {"axes", row.axes},
                    {"calls", row.calls},
                    {"bytes", row.bytes},
                    {"sent_bytes", row.sent_bytes},
                    {"hidden", row.hidden}});
  return json;
}

Json pipeline_json(const PassPipeline& pipeline) {
  Json passes = Json::array();
  for (const Pass& pass : pipeline.passes())
    passes.push_back({{"name", pass.name}, {"summary", pass.summary}});
  return passes;
}

Json to_json(const Compiled& compiled, int64_t parameters, int64_t snapshot) {
  Json passes = Json::array();
  for (const PassReport& pass : compiled.passes) {
    Json counts = Json::object();
    for (const auto& [what, count] : pass.counts) counts[what] = count;
    passes.push_back({{"name", pass.name}, {"seconds", pass.seconds}, {"counts", counts}});
  }
  Json json{{"passes", passes}, {"parameters", parameters}};
  if (!compiled.programs.empty()) {
    const Program& program = largest_program(compiled.programs);
    json["bytes"] = bytes_json(program);
    json["bytes"]["snapshot"] = snapshot;
    json["peak_bytes"] = program.peak_bytes() + snapshot;
    json["host_bytes"] = program.host_bytes();
    json["ranks"] = program.mesh.num_ranks();
    json["collectives"] = collectives_json(program);
    if (const PoolRoom room = pool_room_of(compiled.programs); room.rows > 0)
      json["expert_pools"] = to_json(room);
    json["bytes_per_parameter"] =
        static_cast<double>(program.peak_bytes() + snapshot) / static_cast<double>(parameters);
  }
  if (compiled.programs.size() > 1)
    for (const Program& program : compiled.programs)
      json["stages"].push_back({{"peak_bytes", program.peak_bytes()},
                                {"blocks", blocks_text(program)},
                                {"gathers_per_step", gathers_per_step(program)},
                                {"gathers", gathers_text(program)}});
  return json;
}

}  // namespace tessera
