// SPDX-License-Identifier: Apache-2.0
// The hub as a process: a socket, keys, a folder, and a loop until it is asked to stop.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "islands/hub/island_hub.h"

namespace tessera {

struct ServeHubOptions {
  std::string listen = "tcp://127.0.0.1:5555";
  std::string keys = {};  // a folder; empty: loopback only
  std::filesystem::path out = {};
  HubOptions hub = {};
  bool until_all_left = false;  // it ends once islands were there, and all have left
};

// `asked_to_stop` is looked at a few times a second.
void serve_hub(const ServeHubOptions& options, const HubRecord::Say& say,
               const std::function<bool()>& asked_to_stop);

}  // namespace tessera
