// SPDX-License-Identifier: Apache-2.0
#include "cli/island_job.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "config/config_fields.h"
#include "config/island_config.h"
#include "core/error.h"
#include "islands/hub/hub_link.h"
#include "system/say.h"
#include "train/island_exchange.h"

namespace tessera {
namespace {

// With other values two islands would not train the same run. Their meshes, microbatches, threads
// and folders are their own.
constexpr auto kSharedKeys = std::to_array<std::string_view>(
    {"islands.every", "islands.fragments", "islands.delay", "train.steps", "train.batch",
     "train.seq", "train.seed", "train.precision", "train.optimizer", "train.learning_rate",
     "train.schedule", "train.weight_decay", "data.source"});

bool is_shared(std::string_view key) {
  return key.starts_with("model.") || std::ranges::find(kSharedKeys, key) != kSharedKeys.end();
}

}  // namespace

IslandSettings island_settings(const Config& config) {
  IslandSettings settings{.outer = outer_options(config.islands),
                          .format = island_wire_format(config),
                          .islands = islands_of(config)};
  Config own = config;
  for (const ConfigField& field : config_fields(own))
    if (is_shared(field.key)) settings.others.emplace(field.key, field_text(field));
  return settings;
}

std::unique_ptr<IslandLink> link_of_job(const Config& config, bool leads) {
  const IslandsConfig& islands = config.islands;
  if (!islands.hub.empty() && islands_of(config) == 0)
    throw user_error("islands.hub is {}, but the mesh has no islands", islands.hub)
        .at("islands.hub")
        .help("add them to the mesh: --mesh island=2 for two of them");
  if (islands.hub.empty() || !leads) return nullptr;
  return connect_to_hub({.address = islands.hub,
                         .keys = islands.keys,
                         .island = static_cast<int>(islands.index),
                         .join_seconds = islands.patience_seconds},
                        island_settings(config),
                        [index = islands.index](const std::string& sentence) {
                          say(stderr, "island {}: {}\n", index, sentence);
                        });
}

}  // namespace tessera
