// SPDX-License-Identifier: Apache-2.0
// An executor that can make first values where its memory is: initialise_states then makes none on
// the host.
#pragma once

#include "program/program.h"

namespace tessera {

class FirstValueMaker {
 public:
  virtual ~FirstValueMaker() = default;

  // Gives a state what initialise_states would write, bit for bit: the first value of `origin` in
  // the state's dtype. False where it cannot.
  virtual bool make_first_value(const StateBuffer& state, const StateBuffer& origin,
                                uint64_t seed) = 0;
};

}  // namespace tessera
