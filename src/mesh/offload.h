// SPDX-License-Identifier: Apache-2.0
// What a plan keeps in the host's memory instead of the device's.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace tessera {

// Moments: the optimizer's states beside each parameter. States: master weights and averages, too.
// Parameters: weights, too, which come to the device for each use.
enum class OffloadedStates : uint8_t { None, Moments, States, Parameters };

struct Offload {
  OffloadedStates states = OffloadedStates::None;
  bool gradients = false;    // at rest, which come for each backward that adds to them
  bool activations = false;  // what a block keeps for its backward is on the host until then
  // Of these, of all block classes together: those that would cost most to recompute.
  int values = std::numeric_limits<int>::max();
  bool hidden = false;          // and no more than the link moves while a block computes
  bool update_on_host = false;  // by its cores: gradients go there, weights come back

  bool any() const { return gradients || activations || states != OffloadedStates::None; }
};

// "none", "moments", "states,gradients,activations".
Offload parse_offload(std::string_view text);

}  // namespace tessera
