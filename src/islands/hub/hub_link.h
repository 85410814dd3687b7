// SPDX-License-Identifier: Apache-2.0
// The link of an island that is a job of its own: a thread speaks with the hub over ZeroMQ while
// training goes on. Where the hub does not answer, `receive` gives a change of nobody after
// `silence_seconds`, and at once as long as the hub stays away: the island goes on alone.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "islands/hub/island_settings.h"
#include "islands/island_link.h"

namespace tessera {

struct HubAddress {
  std::string address = {};  // tcp://HOST:PORT
  std::string keys = {};  // a folder with hub.public and island-<index>.key; empty: loopback only
  int island = 0;
  double join_seconds =
      300;  // that the hub has to answer, and an older island of that number to go
  double silence_seconds = 10;
};

// Told one sentence at a time, from another thread.
using SayOfIsland = std::function<void(const std::string& sentence)>;

// A UserError where the address or the keys cannot be used.
std::unique_ptr<IslandLink> connect_to_hub(const HubAddress& hub, const IslandSettings& settings,
                                           SayOfIsland say);

}  // namespace tessera
