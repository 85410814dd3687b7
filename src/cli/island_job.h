// SPDX-License-Identifier: Apache-2.0
// An island that is a job of its own: its link to the hub, and what it must share with the others.
#pragma once

#include <memory>

#include "config/config.h"
#include "islands/hub/island_settings.h"
#include "islands/island_link.h"

namespace tessera {

// `config` is that of all islands.
IslandSettings island_settings(const Config& config);

// Null where the config names no hub, or another process of this job has the link.
std::unique_ptr<IslandLink> link_of_job(const Config& config, bool leads);

}  // namespace tessera
