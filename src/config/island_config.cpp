// SPDX-License-Identifier: Apache-2.0
#include "config/island_config.h"

#include <algorithm>

#include "core/error.h"
#include "mesh/axes.h"

namespace tessera {
namespace {

bool is_apart(const Axis& axis) {
  const AxisRow* row = find_axis(axis.name);
  return row && row->apart;
}

void check_share(const Config& config, int64_t islands) {
  const TrainConfig& train = config.train;
  const int64_t parts = islands * train.microbatches;
  if (train.batch % parts == 0) return;
  throw user_error(
      "cannot split a batch of {} samples over {} islands{}", train.batch, islands,
      train.microbatches > 1 ? fmt::format(" with {} microbatches each", train.microbatches) : "")
      .at("train.batch")
      .help(fmt::format("use a multiple of {}: {} or {}", parts,
                        std::max(parts, train.batch / parts * parts),
                        (train.batch / parts + 1) * parts));
}

void check_rhythm(const IslandsConfig& islands) {
  if (islands.fragments > islands.every)
    throw user_error("islands.fragments is {}, but only {} steps lie between two exchanges",
                     islands.fragments, islands.every)
        .at("islands.fragments")
        .help(fmt::format("use at most islands.every = {}", islands.every));
  if (islands.delay >= islands.every)
    throw user_error("islands.delay is {}, but a fragment is sent again after {} steps",
                     islands.delay, islands.every)
        .at("islands.delay")
        .help(fmt::format("use at most islands.every - 1 = {}", islands.every - 1));
}

}  // namespace

int islands_of(const Config& config) {
  for (const Axis& axis : config.mesh)
    if (is_apart(axis)) return axis.size;
  return 0;
}

Config one_island(Config config) {
  const int islands = islands_of(config);
  if (islands == 0) return config;
  std::erase_if(config.mesh, is_apart);
  config.train.batch /= islands;
  config.train.eval_batches *= islands;  // the held-out samples stay as many
  return config;
}

void check_islands(const Config& config) {
  const int islands = islands_of(config);
  if (islands < 1) return;  // a size below 1 is refused with the mesh
  if (!is_apart(config.mesh.front()))
    throw user_error("mesh {} has island after other axes", to_string(Mesh(config.mesh)))
        .at("mesh.island")
        .help("put island first: islands are whole copies of the rest of the mesh");
  check_share(config, islands);
  check_rhythm(config.islands);
  if (config.islands.index >= islands)
    throw user_error("islands.index is {}, but there are {} islands", config.islands.index, islands)
        .at("islands.index")
        .help(fmt::format("use 0 to {}", islands - 1));
  if (config.islands.hub.empty() && config.islands.index > 0)
    throw user_error("islands.index is {}, but islands.hub is empty", config.islands.index)
        .at("islands.index")
        .help("without a hub all islands are threads of this process: leave islands.index out");
  if (config.train.on_non_finite == OnNonFinite::Rewind)
    throw user_error("train.on_non_finite is rewind, but an island cannot go back alone")
        .at("train.on_non_finite")
        .help("use skip or stop");
}

}  // namespace tessera
