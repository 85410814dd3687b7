// SPDX-License-Identifier: Apache-2.0
// What a config asks for without effect: no mistake, but hardly what was meant.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace tessera {

std::vector<std::string> notes_on(const Config& config);

}  // namespace tessera
