// SPDX-License-Identifier: Apache-2.0
// What a model computes, checked before a token or a score is taken from it: a training that
// diverged leaves weights that compute NaN, whose likeliest token is always the first one.
#pragma once

#include <span>

namespace tessera {

// A UserError where one is NaN or infinite.
void require_finite(std::span<const double> numbers);

}  // namespace tessera
