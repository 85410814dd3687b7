// SPDX-License-Identifier: Apache-2.0
// Gives the pools of experts as many rows as could come to one rank.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass size_pools(Plan plan);

}  // namespace tessera
