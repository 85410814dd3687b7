// SPDX-License-Identifier: Apache-2.0
#include "mesh/offload.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kStates{"none", "moments", "states", "parameters"};

}  // namespace

Offload parse_offload(std::string_view text) {
  Offload offload;
  bool said = false;
  std::string_view rest = text;
  do {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const auto states = std::ranges::find(kStates, word);
    const bool is_states = states != kStates.end();
    if ((!is_states && word != "activations" && word != "gradients") || (is_states && said))
      throw user_error(
          "plan.offload is {}, but must be none, or one of moments, states and "
          "parameters, and gradients, and activations",
          text)
          .at("plan.offload")
          .help("write, for example, states or moments,gradients,activations");
    if (is_states)
      offload.states = static_cast<OffloadedStates>(states - kStates.begin());
    else
      (word == "gradients" ? offload.gradients : offload.activations) = true;
    said = said || is_states;
  } while (!rest.empty());
  return offload;
}

}  // namespace tessera
